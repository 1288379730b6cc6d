package otlp

import "github.com/dendroprof/dendro/internal/wire"

// The messages, field by field.
var (
	dataShape       = wire.Shape{1: wire.AsBytes, 2: wire.AsBytes}
	resourcesShape  = wire.Shape{1: wire.AsBytes, 2: wire.AsBytes, 3: wire.AsBytes}
	resourceShape   = wire.Shape{1: wire.AsBytes, 2: wire.AsVarint, 3: wire.AsBytes}
	scopesShape     = wire.Shape{1: wire.AsBytes, 2: wire.AsBytes, 3: wire.AsBytes}
	scopeShape      = wire.Shape{1: wire.AsBytes, 2: wire.AsBytes, 3: wire.AsBytes, 4: wire.AsVarint}
	dictionaryShape = wire.Shape{1: wire.AsBytes, 2: wire.AsBytes, 3: wire.AsBytes, 4: wire.AsBytes, 5: wire.AsBytes, 6: wire.AsBytes, 7: wire.AsBytes}
	profileShape    = wire.Shape{
		1: wire.AsBytes, 2: wire.AsBytes, 3: wire.AsFixed64, 4: wire.AsVarint, 5: wire.AsBytes, 6: wire.AsVarint,
		7: wire.AsBytes, 8: wire.AsVarint, 9: wire.AsBytes, 10: wire.AsBytes, 11: wire.AsEither,
	}
	sampleShape = wire.Shape{
		1: wire.AsVarint, 2: wire.AsEither, 3: wire.AsVarint, 4: wire.AsEither, 5: wire.AsFixed64 | wire.AsBytes,
	}
	mappingShape   = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint, 3: wire.AsVarint, 4: wire.AsVarint, 5: wire.AsEither}
	locationShape  = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint, 3: wire.AsBytes, 4: wire.AsEither}
	lineShape      = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint, 3: wire.AsVarint}
	functionShape  = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint, 3: wire.AsVarint, 4: wire.AsVarint}
	linkShape      = wire.Shape{1: wire.AsBytes, 2: wire.AsBytes}
	attributeShape = wire.Shape{1: wire.AsVarint, 2: wire.AsBytes, 3: wire.AsVarint}
	stackShape     = wire.Shape{1: wire.AsEither}
	typeShape      = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint}
	keyValueShape  = wire.Shape{1: wire.AsBytes, 2: wire.AsBytes, 3: wire.AsVarint}
	valueShape     = wire.Shape{
		1: wire.AsBytes, 2: wire.AsVarint, 3: wire.AsVarint, 4: wire.AsFixed64, 5: wire.AsBytes, 6: wire.AsBytes, 7: wire.AsBytes, 8: wire.AsVarint,
	}
	arrayShape = wire.Shape{1: wire.AsBytes}
)
