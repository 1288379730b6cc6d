package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"
)

// attach names an answer that is a file.
func attach(w http.ResponseWriter, mediaType, name string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(name))
}

// asciiJSON returns JSON without characters that a header cannot have.
func asciiJSON(data []byte) string {
	var b strings.Builder
	for _, r := range string(data) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}
