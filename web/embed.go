// Package web holds the built web pages: the app that a server shows, and the shell of
// the offline report.
//
// Both are built from the TypeScript sources beside this file by `make web` and
// committed in dist, so that the Go toolchain alone builds the whole program. The
// sources read the HTTP API or the data inside a report; this package computes nothing,
// serves nothing and knows no data.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// App returns the files of the app; index.html is the page of every address that is not
// a file. The files have no modification times.
func App() fs.FS {
	app, err := fs.Sub(dist, "dist/app")
	if err != nil {
		panic(err) // dist/app is a valid path
	}
	return app
}

// ReportTemplate returns the page of the offline report. The writer of a report replaces
// <!--TITLE--> by its title as HTML text, and <!--DATA--> by the element that README.md
// describes. The caller owns the result.
func ReportTemplate() []byte {
	page, err := dist.ReadFile("dist/report/report.html")
	if err != nil {
		panic(err) // the compiler embedded dist, which has the page
	}
	return page
}
