package pprof

import "github.com/dendroprof/dendro/internal/wire"

// The messages of the format.
var (
	profileShape = wire.Shape{
		fieldSampleType: wire.AsBytes, fieldSample: wire.AsBytes, fieldMapping: wire.AsBytes, fieldLocation: wire.AsBytes,
		fieldFunction: wire.AsBytes, fieldString: wire.AsBytes, fieldDropFrames: wire.AsVarint, fieldKeepFrames: wire.AsVarint,
		fieldTime: wire.AsVarint, fieldDuration: wire.AsVarint, fieldPeriodType: wire.AsBytes, fieldPeriod: wire.AsVarint,
		fieldComment: wire.AsEither, fieldDefaultType: wire.AsVarint, fieldDocURL: wire.AsVarint,
	}
	valueTypeShape = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint}
	sampleShape    = wire.Shape{1: wire.AsEither, 2: wire.AsEither, 3: wire.AsBytes}
	labelShape     = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint, 3: wire.AsVarint, 4: wire.AsVarint}
	mappingShape   = wire.Shape{
		1: wire.AsVarint, 2: wire.AsVarint, 3: wire.AsVarint, 4: wire.AsVarint, 5: wire.AsVarint,
		6: wire.AsVarint, 7: wire.AsVarint, 8: wire.AsVarint, 9: wire.AsVarint, 10: wire.AsVarint,
	}
	locationShape = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint, 3: wire.AsVarint, 4: wire.AsBytes, 5: wire.AsVarint}
	lineShape     = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint, 3: wire.AsVarint}
	functionShape = wire.Shape{1: wire.AsVarint, 2: wire.AsVarint, 3: wire.AsVarint, 4: wire.AsVarint, 5: wire.AsVarint}
)

// Field numbers of the outermost message.
const (
	fieldSampleType  = 1
	fieldSample      = 2
	fieldMapping     = 3
	fieldLocation    = 4
	fieldFunction    = 5
	fieldString      = 6
	fieldDropFrames  = 7
	fieldKeepFrames  = 8
	fieldTime        = 9
	fieldDuration    = 10
	fieldPeriodType  = 11
	fieldPeriod      = 12
	fieldComment     = 13
	fieldDefaultType = 14
	fieldDocURL      = 15
)
