// Package pipeline plays the action of the repository (action.yml) as GitHub would: each
// build in a fresh clone, with the history in a cache. It has tests only.
package pipeline
