package graphql

import (
	"context"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/graphql/values"
	"github.com/dendroprof/dendro/traceprof"
)

// GetSegmentsProfileAnalyze answers Query.getSegmentsProfileAnalyze.
func (r *resolver) GetSegmentsProfileAnalyze(ctx context.Context, queries []*query.SegmentProfileAnalyzeQuery) (values.Value, error) {
	items := make([]traceprof.Range, len(queries))
	for i, q := range queries {
		items[i] = traceprof.Range{Segment: q.SegmentID, Start: q.TimeRange.Start, End: q.TimeRange.End}
	}
	return r.analyze(ctx, items)
}

// GetProfileAnalyze answers Query.getProfileAnalyze.
func (r *resolver) GetProfileAnalyze(ctx context.Context, segment string, ranges []*query.ProfileAnalyzeTimeRange) (values.Value, error) {
	items := make([]traceprof.Range, len(ranges))
	for i, t := range ranges {
		items[i] = traceprof.Range{Segment: segment, Start: t.Start, End: t.End}
	}
	return r.analyze(ctx, items)
}

func (r *resolver) analyze(ctx context.Context, items []traceprof.Range) (values.Value, error) {
	a, err := traceprof.Analyze(ctx, r.Store, items, traceprof.AnalyzeOptions{})
	if err != nil {
		return nil, err
	}
	return analyzation(a), nil
}

// analyzation returns an analysis as a ProfileAnalyzation.
func analyzation(a *traceprof.Analysis) values.Value {
	names := values.NewTexts(len(a.Functions), func(i int32) string { return a.Functions[i].Name })
	trees := make([]values.Value, len(a.Trees))
	for i := range a.Trees {
		t := &a.Trees[i]
		trees[i] = values.Object("ProfileStackTree", map[string]values.Value{
			"elements": values.Table("ProfileStackElement", t.Len(), map[string]values.Column{
				"id":                    values.IDs(func(row int) int64 { return int64(row) + 1 }),
				"parentId":              values.IDs(func(row int) int64 { return int64(t.Parent[row]) }),
				"codeSignature":         names.Column(t.Function),
				"duration":              values.Numbers(t.Duration),
				"durationChildExcluded": values.Numbers(t.Self),
				"count":                 values.Numbers(t.Count),
			}),
		})
	}
	return values.Object("ProfileAnalyzation", map[string]values.Value{"tip": values.Text(a.Tip), "trees": values.List(trees)})
}
