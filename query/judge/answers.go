package judge

import (
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
)

// MethodView returns the method that a MethodRequest names.
func MethodView(r *MethodRequest) query.View[MethodRequest] {
	switch r.Method {
	case "thesis":
		return query.ViewBy(Scores, func(r *MethodRequest) (*ScoresRequest, error) {
			return &ScoresRequest{Selection: r.Selection, Judging: r.Judging, Scored: r.Scored, Rows: r.Rows, Expand: r.Expand,
				Correlating: r.Correlating, Facts: r.Facts}, nil
		})
	case "hotelling":
		return query.ViewBy(Hotelling, func(r *MethodRequest) (*HotellingRequest, error) {
			if r.Expand.Expand != "" {
				return nil, param.Errorf("--expand needs a method that ranks functions, not --method hotelling")
			}
			return &HotellingRequest{r.Selection, r.Judging, r.Subtrees, r.Rows, r.Facts}, nil
		})
	case "correlation":
		return query.ViewBy(Correlations, func(r *MethodRequest) (*CorrelationsRequest, error) {
			return &CorrelationsRequest{r.Selection, r.Correlating, r.Rows, r.Expand, r.Facts}, nil
		})
	}
	return query.ViewBy(Regressions, func(r *MethodRequest) (*RegressionsRequest, error) {
		return &RegressionsRequest{Selection: r.Selection, Sides: r.Sides, Judging: r.Judging, Listing: r.Listing, Rows: r.Rows,
			Expand: r.Expand, Correlating: r.Correlating, Facts: r.Facts}, nil
	})
}
