package connect

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Schema has the messages of a service, for their JSON form. It is safe for concurrent use.
type Schema struct {
	messages protoreflect.MessageDescriptors
}

// MustSchema parses messages and enums in the syntax of proto3, without imports, nesting,
// maps and options:
//
//	message Point { int64 timestamp = 1; repeated LabelPair labels = 2; }
//
// It panics if the text is no schema: texts are constants.
func MustSchema(text string) *Schema {
	s, err := parseSchema(text)
	if err != nil {
		panic(fmt.Sprintf("connect: schema: %v", err))
	}
	return s
}

// FromJSON converts a message from JSON to the wire format. Fields that the schema does not
// have are dropped.
func (s *Schema) FromJSON(name string, text []byte) ([]byte, error) {
	m := s.message(name)
	if len(text) > 0 { // nothing is the empty message
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, m); err != nil {
			return nil, err
		}
	}
	return proto.Marshal(m)
}

// ToJSON converts a message from the wire format to JSON: names in camel case, integers of
// 64 bits as text, bytes in base64.
func (s *Schema) ToJSON(name string, msg []byte) ([]byte, error) {
	m := s.message(name)
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(msg, m); err != nil {
		return nil, err
	}
	return protojson.Marshal(m)
}

func (s *Schema) message(name string) *dynamicpb.Message {
	return dynamicpb.NewMessage(s.messages.ByName(protoreflect.Name(name)))
}

var (
	token   = regexp.MustCompile(`//.*|[A-Za-z_][A-Za-z_0-9]*|[0-9]+|[{}=;]`)
	scalars = map[string]descriptorpb.FieldDescriptorProto_Type{
		"double": descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, "float": descriptorpb.FieldDescriptorProto_TYPE_FLOAT,
		"int32": descriptorpb.FieldDescriptorProto_TYPE_INT32, "int64": descriptorpb.FieldDescriptorProto_TYPE_INT64,
		"uint32": descriptorpb.FieldDescriptorProto_TYPE_UINT32, "uint64": descriptorpb.FieldDescriptorProto_TYPE_UINT64,
		"bool": descriptorpb.FieldDescriptorProto_TYPE_BOOL, "string": descriptorpb.FieldDescriptorProto_TYPE_STRING,
		"bytes": descriptorpb.FieldDescriptorProto_TYPE_BYTES, "fixed64": descriptorpb.FieldDescriptorProto_TYPE_FIXED64,
	}
)

// parser reads the tokens of a schema.
type parser struct {
	tokens []string
	enums  []string
	err    error
}

func parseSchema(text string) (*Schema, error) {
	p := &parser{tokens: token.FindAllString(text, -1)}
	p.tokens = slices.DeleteFunc(p.tokens, func(t string) bool { return t[0] == '/' })
	for i, t := range p.tokens {
		if t == "enum" && i+1 < len(p.tokens) {
			p.enums = append(p.enums, p.tokens[i+1])
		}
	}
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("schema.proto"), Syntax: proto.String("proto3")}
	for len(p.tokens) > 0 && p.err == nil {
		switch kind := p.next(); kind {
		case "message":
			file.MessageType = append(file.MessageType, p.message())
		case "enum":
			file.EnumType = append(file.EnumType, p.enum())
		default:
			return nil, fmt.Errorf("%q is neither message nor enum", kind)
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	d, err := protodesc.NewFile(file, nil)
	if err != nil {
		return nil, err
	}
	return &Schema{d.Messages()}, nil
}

// next returns the next token; empty at the end.
func (p *parser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

// expect reads a token that must be there.
func (p *parser) expect(want string) {
	if got := p.next(); got != want && p.err == nil {
		p.err = fmt.Errorf("%q where %q is expected, before %.5q", got, want, p.tokens[:min(5, len(p.tokens))])
	}
}

// more reports whether a block has another element, and reads its end.
func (p *parser) more() bool {
	if p.err != nil || len(p.tokens) > 0 && p.tokens[0] != "}" {
		return p.err == nil
	}
	p.expect("}")
	return false
}

// number reads `= n;`.
func (p *parser) number() *int32 {
	p.expect("=")
	n, err := strconv.ParseInt(p.next(), 10, 32)
	if err != nil && p.err == nil {
		p.err = err
	}
	p.expect(";")
	return proto.Int32(int32(n))
}

func (p *parser) message() *descriptorpb.DescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: proto.String(p.next())}
	p.expect("{")
	for p.more() {
		f := &descriptorpb.FieldDescriptorProto{Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		kind := p.next()
		if kind == "repeated" {
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			kind = p.next()
		}
		if t, ok := scalars[kind]; ok {
			f.Type = t.Enum()
		} else if f.TypeName = proto.String("." + kind); slices.Contains(p.enums, kind) {
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum()
		} else {
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		}
		f.Name, f.Number = proto.String(p.next()), p.number()
		m.Field = append(m.Field, f)
	}
	return m
}

func (p *parser) enum() *descriptorpb.EnumDescriptorProto {
	e := &descriptorpb.EnumDescriptorProto{Name: proto.String(p.next())}
	p.expect("{")
	for p.more() {
		e.Value = append(e.Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String(p.next()), Number: p.number()})
	}
	return e
}
