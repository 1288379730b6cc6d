// Package web compares the web pages with the Go packages: golden files hold call trees
// and what `dendro tree` and `dendro diff` print of them under every transform. The tests
// in web/test read these files and compute the same rows in TypeScript.
//
// A golden file is JSON: the input in columns, and cases with their flags and rows.
// Rewrite them with -update.
package web
