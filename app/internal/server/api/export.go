package api

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
)

// file is a profile that is answered as a file.
type file struct {
	name   string
	format *format.Format
	packed format.Compression
}

// fileOf returns the file for a profile in a format; stem begins its name.
func fileOf(stem, name string) (file, error) {
	f, err := format.Lookup(name)
	if err != nil {
		return file{}, err
	}
	if f.Encode == nil {
		return file{}, fmt.Errorf("format %s can only be read", f.Title)
	}
	stem += f.Extensions[0]
	_, packed, err := format.Target(stem, name)
	return file{stem, f, packed}, err
}

// write answers with a table of a profile, or with all of them.
func (f file) write(w http.ResponseWriter, p *profile.Profile, table int) {
	attach(w, "application/octet-stream", f.name)
	if err := format.Write(w, p, table, f.format, f.packed); err != nil {
		abortOn(mistake(err)) // the format cannot hold it, or the client has gone
	}
}

// attach names an answer that is a file.
func attach(w http.ResponseWriter, mediaType, name string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(name))
}
