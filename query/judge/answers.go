package judge

import "github.com/dendroprof/dendro/query"

// MethodView returns the method that a RegressionsRequest names.
func MethodView(r *RegressionsRequest) query.View[RegressionsRequest] {
	switch r.Method {
	case "thesis":
		return query.ViewOf(Scores)
	case "hotelling":
		return query.ViewOf(Hotelling)
	case "correlation":
		return query.ViewOf(Correlations)
	}
	return query.ViewOf(Regressions)
}
