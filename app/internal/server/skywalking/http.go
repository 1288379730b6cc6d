package skywalking

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	agentv3 "skywalking.apache.org/repo/goapi/collect/language/agent/v3"
	managementv3 "skywalking.apache.org/repo/goapi/collect/management/v3"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/format/protobuf"
)

// TypeMalformed is the problem type for a body that cannot be decoded.
const TypeMalformed = "urn:dendro:problem:malformed"

// maxBody is the maximum size of a decompressed body, in bytes. Unlike an upload it is held
// in memory.
const maxBody = 16 << 20

// routes are the routes for agents without gRPC, which send the messages as protobuf's
// JSON. There is no profiling over HTTP. They need the full token, as they write.
func (a *Agents) routes() []server.Route {
	routes := []server.Route{
		a.route("/v3/management/reportProperties", one, new(managementv3.InstanceProperties), (*Session).Properties),
		a.route("/v3/management/keepAlive", one, new(managementv3.InstancePingPkg), (*Session).Ping),
		a.route("/v3/segment", one, new(agentv3.SegmentObject), (*Session).Segment),
		a.route("/v3/segments", many, new(agentv3.SegmentObject), (*Session).Segment),
	}
	for _, path := range dropped {
		routes = append(routes, server.Route{Pattern: "POST " + path, Handler: a.drop(path)})
	}
	return routes
}

// dropped are the routes of reports that are accepted and dropped.
var dropped = []string{"/v3/logs", "/v3/events", "/browser/perfData", "/browser/perfData/webVitals",
	"/browser/perfData/resources", "/browser/perfData/webInteractions", "/browser/errorLog", "/browser/errorLogs"}

// drop answers reports without reading them.
func (a *Agents) drop(path string) http.Handler {
	count := a.counts.ignored.WithLabelValues(path)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		count.Inc()
		server.WriteJSON(w, http.StatusOK, struct{}{})
	})
}

// reading reads the messages of a body, one at a time, into m.
type reading = func(body io.Reader, m proto.Message, handle func(msg []byte) error) error

// route returns a route of messages like m, which answers when the data of its body is durable.
func (a *Agents) route(path string, read reading, m proto.Message, taken take) server.Route {
	return server.Route{Pattern: "POST " + path, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := a.NewSession(true)
		err := read(http.MaxBytesReader(w, r.Body, maxBody), m.ProtoReflect().New().Interface(),
			func(msg []byte) error { return taken(s, r.Context(), msg) })
		if err == nil {
			err = s.Wait(r.Context())
		}
		switch problem := server.BodyProblem(err); {
		case err == nil:
			server.WriteJSON(w, http.StatusOK, struct{}{})
		case problem != nil:
			server.WriteProblem(w, r, problem)
		case errors.Is(err, ErrMalformed):
			a.counts.malformed.WithLabelValues(path).Inc()
			server.WriteProblem(w, r, &server.Problem{Type: TypeMalformed, Title: "The body cannot be decoded",
				Status: http.StatusBadRequest, Detail: err.Error()})
		default:
			a.opts.Log.ErrorContext(r.Context(), "a report over HTTP could not be stored", "route", path, "error", err)
			server.WriteProblem(w, r, &server.Problem{Type: server.TypeInternal, Title: "The report could not be stored",
				Status: http.StatusInternalServerError, Detail: "the server's log has the details"})
		}
	})}
}

// one reads one message.
func one(body io.Reader, m proto.Message, handle func(msg []byte) error) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return fromJSON(text, m, handle)
}

// many reads an array of messages.
func many(body io.Reader, m proto.Message, handle func(msg []byte) error) error {
	d := json.NewDecoder(filling{body})
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return notJSON("an array is expected", err)
	}
	for d.More() {
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return notJSON("element of the array", err)
		}
		if err := fromJSON(text, m, handle); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return notJSON("end of the array", err)
	}
	return nil
}

// filling is a reader whose reads fill the buffer. With every read, a json.Decoder scans
// all white space that it has buffered since the last value: with small reads that would
// take quadratic time.
type filling struct{ io.Reader }

// Read fills p, except at the end.
func (f filling) Read(p []byte) (int, error) {
	n, err := io.ReadFull(f.Reader, p)
	if err == io.ErrUnexpectedEOF { //nolint:errorlint // ReadFull's own, those of bodies are wrapped
		err = nil // the next read finds the end
	}
	return n, err
}

// notJSON returns the error for JSON that cannot be read, or that is not as expected (nil).
// It returns an error of the connection as it is.
func notJSON(what string, err error) error {
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s", ErrMalformed, what)
	case server.BodyProblem(err) == nil &&
		(errors.As(err, new(*json.SyntaxError)) || errors.As(err, new(*json.UnmarshalTypeError)) || // a number that no float64 holds
			errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return fmt.Errorf("%w: %s: %w", ErrMalformed, what, err)
	}
	return err
}

// fromJSON converts a JSON message to the encoding of gRPC and calls handle with it.
func fromJSON(text []byte, m proto.Message, handle func(msg []byte) error) error {
	lenient := protojson.UnmarshalOptions{DiscardUnknown: true}
	err := errEntries
	if objects(text) <= maxEntries {
		err = lenient.Unmarshal(text, m)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrMalformed, m.ProtoReflect().Descriptor().Name(), err)
	}
	msg, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrMalformed, m.ProtoReflect().Descriptor().Name(), err)
	}
	return handle(msg)
}

// objects returns the number of objects in a text of JSON.
func objects(text []byte) (n int) {
	for _, c := range protobuf.Structure(text) {
		if c == '{' {
			n++
		}
	}
	return n
}
