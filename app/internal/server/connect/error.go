package connect

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/app/internal/server"
)

// code is how Connect names a gRPC code, and the HTTP status that goes with it.
type code struct {
	name   string
	status int
}

// outcomes of calls by gRPC code. Statuses are those of connect-go 1.19.
var outcomes = map[codes.Code]code{
	codes.Canceled:           {"canceled", 499},
	codes.Unknown:            {"unknown", http.StatusInternalServerError},
	codes.InvalidArgument:    {"invalid_argument", http.StatusBadRequest},
	codes.DeadlineExceeded:   {"deadline_exceeded", http.StatusGatewayTimeout},
	codes.NotFound:           {"not_found", http.StatusNotFound},
	codes.AlreadyExists:      {"already_exists", http.StatusConflict},
	codes.PermissionDenied:   {"permission_denied", http.StatusForbidden},
	codes.ResourceExhausted:  {"resource_exhausted", http.StatusTooManyRequests},
	codes.FailedPrecondition: {"failed_precondition", http.StatusBadRequest},
	codes.Aborted:            {"aborted", http.StatusConflict},
	codes.OutOfRange:         {"out_of_range", http.StatusBadRequest},
	codes.Unimplemented:      {"unimplemented", http.StatusNotImplemented},
	codes.Internal:           {"internal", http.StatusInternalServerError},
	codes.Unavailable:        {"unavailable", http.StatusServiceUnavailable},
	codes.DataLoss:           {"data_loss", http.StatusInternalServerError},
	codes.Unauthenticated:    {"unauthenticated", http.StatusUnauthorized},
}

// HTTPStatus returns the HTTP status of a gRPC code.
func HTTPStatus(c codes.Code) int { return outcomes[c].status }

// WriteError answers a request with an error of a method: a status and
// `{"code": …, "message": …}`. Where the client may try again, it says when.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	err = server.StatusOf(err)
	st := status.Convert(err)
	o := outcomes[st.Code()]
	if o.status == http.StatusServiceUnavailable || o.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(server.RetryAfter(err)/time.Second))))
	}
	write(w, r, o.status, o.name, st.Message())
}

// WriteProblem answers a request that the server refused, in the same form.
func WriteProblem(w http.ResponseWriter, r *http.Request, p *server.Problem) {
	server.WriteProblemAs(w, r, p, jsonType, func(p *server.Problem) any { return failure{nameOf(p.Status), p.Text()} })
}

// nameOf returns the code for an HTTP status of the server.
func nameOf(status int) string {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return "resource_exhausted"
	case http.StatusUnsupportedMediaType:
		return "unimplemented"
	case http.StatusRequestTimeout:
		return "deadline_exceeded"
	case http.StatusBadRequest:
		return "invalid_argument"
	case http.StatusConflict:
		return "aborted"
	case http.StatusInternalServerError:
		return "internal"
	}
	for _, o := range outcomes {
		if o.status == status {
			return o.name
		}
	}
	return "unknown"
}

// WriteBodyError answers a request whose body cannot be read.
func WriteBodyError(w http.ResponseWriter, r *http.Request, err error) {
	if p := server.BodyProblem(err); p != nil {
		WriteProblem(w, r, p)
		return
	}
	WriteError(w, r, err)
}

// failure is the body of an error.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func write(w http.ResponseWriter, r *http.Request, status int, name, message string) {
	server.Explain(r.Context(), message)
	body, err := json.Marshal(failure{name, server.Shown(r.Context(), message)})
	if err != nil {
		body = []byte(`{"code":"internal"}`)
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
