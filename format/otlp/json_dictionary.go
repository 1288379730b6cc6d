package otlp

import (
	"encoding/base64"
	"encoding/hex"
)

func (r reader) dictionary() {
	r.fields(func(key string) {
		switch key {
		case "mappingTable":
			r.list(r.mapping)
		case "locationTable":
			r.list(r.location)
		case "functionTable":
			r.list(r.function)
		case "linkTable":
			r.list(r.link)
		case "stringTable":
			r.list(func() { r.m.strings = append(r.m.strings, r.s.Text()) })
		case "attributeTable":
			r.list(r.attribute)
		case "stackTable":
			r.list(func() {
				var x part
				r.fields(func(key string) {
					if key == "locationIndices" {
						x = r.indices()
					}
				})
				r.m.stacks = push(r.m.stacks, x)
			})
		}
	})
}

func (r reader) mapping() {
	var x mapping
	r.fields(func(key string) {
		switch key {
		case "memoryStart":
			x.start = uint64(r.int())
		case "memoryLimit":
			x.limit = uint64(r.int())
		case "fileOffset":
			x.offset = uint64(r.int())
		case "filenameStrindex":
			x.file = r.index()
		case "attributeIndices":
			x.attributes = r.indices()
		}
	})
	r.m.mappings = append(r.m.mappings, x)
}

func (r reader) location() {
	x := location{at: int(r.s.Offset())}
	r.fields(func(key string) {
		switch key {
		case "mappingIndex":
			x.mapping = r.index()
		case "address":
			x.address = uint64(r.int())
		case "lines":
			from := len(r.m.lines)
			r.list(func() { r.m.lines = push(r.m.lines, r.line()) })
			x.lines = next(from, len(r.m.lines))
		case "attributeIndices":
			x.attributes = r.indices()
		}
	})
	r.m.locations = push(r.m.locations, x)
}

func (r reader) line() (x line) {
	r.fields(func(key string) {
		switch key {
		case "functionIndex":
			x.function = r.index()
		case "line":
			x.line = r.int()
		case "column":
			x.column = r.int()
		}
	})
	return x
}

func (r reader) function() {
	var x function
	r.fields(func(key string) {
		switch key {
		case "nameStrindex":
			x.name = r.index()
		case "systemNameStrindex":
			x.systemName = r.index()
		case "filenameStrindex":
			x.file = r.index()
		case "startLine":
			x.startLine = r.int()
		}
	})
	r.m.functions = push(r.m.functions, x)
}

func (r reader) link() {
	var x link
	r.fields(func(key string) {
		switch key {
		case "traceId":
			x.trace = r.id(16)
		case "spanId":
			x.span = r.id(8)
		}
	})
	r.m.links = append(r.m.links, x)
}

// id reads an id of n bytes: hexadecimal, as OTLP has it, or base64, as generic
// writers of the schema do.
func (r reader) id(n int) string {
	text := r.s.Text()
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != n {
		if b64, err := base64.StdEncoding.DecodeString(text); err == nil && len(b64) == n {
			b = b64
		}
	}
	return hexID(b)
}
