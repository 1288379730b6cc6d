// Package unlisted has no line in the policy.
// One.
// Two.
// Three.
// Four.
package unlisted
