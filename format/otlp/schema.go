package otlp

import "github.com/dendroprof/dendro/internal/wire"

// schema describes the fields of a message in both forms: the wire types of their
// numbers, and their names and values in JSON.
type schema struct {
	wire.Shape
	fields []field
}

type field struct {
	num  int
	name string // in JSON; empty: not read
	kind kind
	list bool
	of   *schema // of a nested message
}

// kind is the type of a field's values.
type kind uint8

const (
	int32s   kind = iota // numbers in JSON
	int64s               // texts of digits in JSON, like all integers of 64 bits
	uint64s              //
	fixed64s             // of 8 bytes each
	bools                //
	doubles              //
	texts                //
	ids                  // bytes, hexadecimal in JSON
	bytes64              // bytes, base64 in JSON
	nested               // messages
)

func newSchema(fields ...field) *schema {
	s := &schema{fields: fields}
	for _, f := range fields {
		switch f.kind {
		case int32s, int64s, uint64s, bools:
			s.Shape[f.num] = wire.AsVarint
		case fixed64s, doubles:
			s.Shape[f.num] = wire.AsFixed64
		}
		if f.list || s.Shape[f.num] == 0 {
			s.Shape[f.num] |= wire.AsBytes
		}
	}
	return s
}

// packed reports whether the values of a list lie in one field of bytes.
func (f *field) packed() bool { return f.list && f.kind < bools }

// oldNames are the names in JSON that a draft before 1.9 gave lists.
var oldNames = map[string]string{"sample": "samples", "line": "lines"}

func (s *schema) named(key []byte) *field {
	if f := s.find(string(key)); f != nil {
		return f
	}
	if name := oldNames[string(key)]; name != "" {
		return s.find(name)
	}
	return nil
}

func (s *schema) find(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

func (s *schema) numbered(num int) *field {
	for i := range s.fields {
		if s.fields[i].num == num {
			return &s.fields[i]
		}
	}
	return nil
}

// The messages. Of a list in an attribute only texts are read, of a map nothing.
var (
	arraySchema = newSchema(field{num: 1, name: "values", list: true, kind: nested,
		of: newSchema(field{num: 1, name: "stringValue", kind: texts})})
	valueSchema = newSchema(
		field{num: 1, name: "stringValue", kind: texts},
		field{num: 2, name: "boolValue", kind: bools},
		field{num: 3, name: "intValue", kind: int64s},
		field{num: 4, name: "doubleValue", kind: doubles},
		field{num: 5, name: "arrayValue", kind: nested, of: arraySchema},
		field{num: 6, name: "kvlistValue", kind: nested, of: newSchema()},
		field{num: 7, name: "bytesValue", kind: bytes64},
		field{num: 8, name: "stringValueStrindex", kind: int32s})
	keyValueSchema = newSchema(
		field{num: 1, name: "key", kind: texts},
		field{num: 2, name: "value", kind: nested, of: valueSchema},
		field{num: 3, name: "keyStrindex", kind: int32s})

	typeSchema = newSchema(
		field{num: 1, name: "typeStrindex", kind: int32s},
		field{num: 2, name: "unitStrindex", kind: int32s})
	sampleSchema = newSchema(
		field{num: 1, name: "stackIndex", kind: int32s},
		field{num: 2, name: "attributeIndices", list: true, kind: int32s},
		field{num: 3, name: "linkIndex", kind: int32s},
		field{num: 4, name: "values", list: true, kind: int64s},
		field{num: 5, name: "timestampsUnixNano", list: true, kind: fixed64s})
	profileSchema = newSchema(
		field{num: 1, name: "sampleType", kind: nested, of: typeSchema},
		field{num: 2, name: "samples", list: true, kind: nested, of: sampleSchema},
		field{num: 3, name: "timeUnixNano", kind: fixed64s},
		field{num: 4, name: "durationNano", kind: uint64s},
		field{num: 5, name: "periodType", kind: nested, of: typeSchema},
		field{num: 6, name: "period", kind: int64s},
		field{num: 7, name: "profileId", kind: ids},
		field{num: 8, kind: uint64s}, // droppedAttributesCount
		field{num: 9, name: "originalPayloadFormat", kind: texts},
		field{num: 10, kind: bytes64}, // originalPayload
		field{num: 11, name: "attributeIndices", list: true, kind: int32s},
		field{num: fieldComments, name: "commentStrindices", list: true, kind: int32s})
	scopeSchema = newSchema(
		field{num: 1, name: "name", kind: texts},
		field{num: 2, name: "version", kind: texts},
		field{num: 3, kind: nested}, // attributes
		field{num: 4, kind: uint64s})
	scopesSchema = newSchema(
		field{num: 1, name: "scope", kind: nested, of: scopeSchema},
		field{num: 2, name: "profiles", list: true, kind: nested, of: profileSchema},
		field{num: 3, kind: texts}) // schemaUrl
	resourceSchema = newSchema(
		field{num: 1, name: "attributes", list: true, kind: nested, of: keyValueSchema},
		field{num: 2, kind: uint64s}, // droppedAttributesCount
		field{num: 3, kind: nested})  // entityRefs
	resourcesSchema = newSchema(
		field{num: 1, name: "resource", kind: nested, of: resourceSchema},
		field{num: 2, name: "scopeProfiles", list: true, kind: nested, of: scopesSchema},
		field{num: 3, kind: texts}) // schemaUrl

	mappingSchema = newSchema(
		field{num: 1, name: "memoryStart", kind: uint64s},
		field{num: 2, name: "memoryLimit", kind: uint64s},
		field{num: 3, name: "fileOffset", kind: uint64s},
		field{num: 4, name: "filenameStrindex", kind: int32s},
		field{num: 5, name: "attributeIndices", list: true, kind: int32s})
	lineSchema = newSchema(
		field{num: 1, name: "functionIndex", kind: int32s},
		field{num: 2, name: "line", kind: int64s},
		field{num: 3, name: "column", kind: int64s})
	locationSchema = newSchema(
		field{num: 1, name: "mappingIndex", kind: int32s},
		field{num: 2, name: "address", kind: uint64s},
		field{num: 3, name: "lines", list: true, kind: nested, of: lineSchema},
		field{num: 4, name: "attributeIndices", list: true, kind: int32s})
	functionSchema = newSchema(
		field{num: 1, name: "nameStrindex", kind: int32s},
		field{num: 2, name: "systemNameStrindex", kind: int32s},
		field{num: 3, name: "filenameStrindex", kind: int32s},
		field{num: 4, name: "startLine", kind: int64s})
	linkSchema = newSchema(
		field{num: 1, name: "traceId", kind: ids},
		field{num: 2, name: "spanId", kind: ids})
	attributeSchema = newSchema(
		field{num: 1, name: "keyStrindex", kind: int32s},
		field{num: 2, name: "value", kind: nested, of: valueSchema},
		field{num: 3, name: "unitStrindex", kind: int32s})
	stackSchema      = newSchema(field{num: 1, name: "locationIndices", list: true, kind: int32s})
	dictionarySchema = newSchema(
		field{num: 1, name: "mappingTable", list: true, kind: nested, of: mappingSchema},
		field{num: 2, name: "locationTable", list: true, kind: nested, of: locationSchema},
		field{num: 3, name: "functionTable", list: true, kind: nested, of: functionSchema},
		field{num: 4, name: "linkTable", list: true, kind: nested, of: linkSchema},
		field{num: 5, name: "stringTable", list: true, kind: texts},
		field{num: 6, name: "attributeTable", list: true, kind: nested, of: attributeSchema},
		field{num: 7, name: "stackTable", list: true, kind: nested, of: stackSchema})

	dataSchema = newSchema(
		field{num: 1, name: "resourceProfiles", list: true, kind: nested, of: resourcesSchema},
		field{num: 2, name: "dictionary", kind: nested, of: dictionarySchema})
)
