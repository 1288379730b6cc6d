package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Problem is an error in the form of RFC 9457. Type is stable: programs can branch on it.
// The other texts are for people.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"` // the request's id, also in the log

	retryAfter time.Duration // of 429 and 503; 0: 1 s

	// More are further members.
	More map[string]any `json:"-"`
}

// Types of the problems of the server itself.
const (
	TypeBadRequest   = "urn:dendro:problem:bad-request"
	TypeNotFound     = "urn:dendro:problem:not-found"
	TypeMethod       = "urn:dendro:problem:method-not-allowed"
	TypeUnauthorized = "urn:dendro:problem:unauthorized"
	TypeForbidden    = "urn:dendro:problem:forbidden"
	TypeTooLarge     = "urn:dendro:problem:too-large"
	TypeCost         = "urn:dendro:problem:too-costly"
	TypeEncoding     = "urn:dendro:problem:unsupported-encoding"
	TypeGuesses      = "urn:dendro:problem:too-many-guesses"
	TypeBusy         = "urn:dendro:problem:busy"
	TypeInternal     = "urn:dendro:problem:internal"
)

// MarshalJSON writes the members of RFC 9457 and More in one object.
func (p *Problem) MarshalJSON() ([]byte, error) {
	members := map[string]any{}
	maps.Copy(members, p.More)
	members["type"], members["title"], members["status"] = p.Type, p.Title, p.Status
	if p.Detail != "" {
		members["detail"] = p.Detail
	}
	if p.Instance != "" {
		members["instance"] = p.Instance
	}
	return json.Marshal(members)
}

// WriteJSON answers with a value as JSON. It panics if there is no JSON of it, before
// anything is sent.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may have left
}

// Text returns title and detail for people.
func (p *Problem) Text() string { return strings.TrimSuffix(p.Title+": "+p.Detail, ": ") }

// WriteProblem answers a request with a problem and logs it. Call it before anything is
// sent; it removes headers that describe another body.
func WriteProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	WriteProblemAs(w, r, p, "application/problem+json", func(p *Problem) any { return p })
}

// WriteProblemAs is WriteProblem for protocols with their own form of errors: form
// returns what to write as JSON.
func WriteProblemAs(w http.ResponseWriter, r *http.Request, p *Problem, contentType string, form func(*Problem) any) {
	q := *p
	if a := infoOf(r.Context()); a != nil {
		q.Instance = "/requests/" + a.id
		a.problem = new(q)
		q.Detail = Shown(r.Context(), q.Detail)
	}
	body, err := json.Marshal(form(&q))
	if err != nil {
		body = []byte(`{"type":"` + TypeInternal + `","title":"Internal error","status":500}`)
		q.Status = http.StatusInternalServerError
	}
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Content-Disposition"} {
		h.Del(name)
	}
	h.Set("Content-Type", contentType)
	switch q.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="dendro"`)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		h.Set("Retry-After", strconv.Itoa(max(1, int(q.retryAfter/time.Second))))
	}
	w.WriteHeader(q.Status)
	w.Write(append(body, '\n'))
}
