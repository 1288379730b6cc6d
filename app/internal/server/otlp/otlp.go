// Package otlp receives profiles of OpenTelemetry: ProfilesService over gRPC, and
// `POST /v1development/profiles` with protobuf or JSON, answered in kind.
//
// Each resource of a request is a program of its own: its attributes become labels, its
// profiles windows. What of a request cannot be stored is reported as a partial success,
// after which clients do not try again; statuses for which they do are given only if nothing
// was stored and the same request may succeed. So a program beyond its rate or share does not
// keep others of the same collector from being stored. A request is answered after its commit.
//
// The package translates; package format/otlp reads the messages, continuous/intake checks
// limits and stores.
package otlp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/connect"
	"github.com/dendroprof/dendro/app/internal/server/receiver"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/format/otlp"
	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/profile"
)

// Options configure the receiver.
type Options struct {
	// Service names programs that do not say what they are called; empty:
	// unknown_service, with the executable if that is known.
	Service string
}

// OTLP receives profiles. It is safe for concurrent use.
type OTLP struct {
	in   *intake.Intake
	opts Options
	now  func() time.Time
}

// New returns a receiver that stores with in.
func New(in *intake.Intake, o Options) *OTLP { return &OTLP{in, o, time.Now} }

const service = "opentelemetry.proto.collector.profiles.v1development.ProfilesService"

// Part returns the routes and the service. The address /services/NAME/v1development/profiles
// names the service of programs that do not, such as the Java agent's.
func (o *OTLP) Part() server.Part {
	part := server.Part{Name: "otlp", GRPC: o.register}
	for _, prefix := range []string{"", "/services/{service}"} {
		part.Routes = append(part.Routes, server.Route{Pattern: "POST " + prefix + "/v1development/profiles", Agents: true,
			Handler: http.HandlerFunc(o.post), Problem: writeProblem})
	}
	receiver.CountRefused(o.in, part.Routes)
	return part
}

func (o *OTLP) register(r grpc.ServiceRegistrar) {
	handle := func(ctx context.Context, request []byte) ([]byte, error) {
		if err := o.known(metadata.ValueFromIncomingContext(ctx, versionHeader)); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		rejected, err := o.export(ctx, request, o.opts.Service)
		return protobuf.Encode(rejected.answer()), err
	}
	r.RegisterService(&grpc.ServiceDesc{ServiceName: service, Metadata: service,
		Methods: []grpc.MethodDesc{{MethodName: "Export", Handler: connect.Handler("/"+service+"/Export", handle)}}}, nil)
}

// The content types of requests and answers.
const (
	protoType = "application/x-protobuf"
	jsonType  = "application/json"
)

// versionHeader says of which version of the signal a request is: of 1 without it. A message of
// another version may be read as one of this version with other values.
const versionHeader = "otlp-profiles-development-version"

// version is the version that package format/otlp reads.
const version = "1"

// known refuses a request with other values of versionHeader.
func (o *OTLP) known(values []string) error {
	if len(values) == 0 || len(values) == 1 && values[0] == version {
		return nil
	}
	err := fmt.Errorf("%s is %.60q; version %s of the signal is read: update Dendro, or use an exporter of that version",
		versionHeader, values, version)
	o.in.Refuse(err)
	return err
}

// The answers: an ExportProfilesServiceResponse, and a google.rpc.Status.
type (
	answer struct {
		Partial *partialSuccess `pb:"1 partial_success"`
	}
	partialSuccess struct {
		Rejected int64  `pb:"1 rejected_profiles"`
		Message  string `pb:"2 error_message"`
	}
	rpcStatus struct {
		Code    int32  `pb:"1 code"`
		Message string `pb:"2 message"`
	}
)

// kind returns the content type in which a request is answered: its own.
func kind(r *http.Request) string {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // a damaged one is none
	return media
}

// post answers a request over HTTP.
func (o *OTLP) post(w http.ResponseWriter, r *http.Request) {
	if k := kind(r); k != protoType && k != jsonType {
		writeStatus(w, r, http.StatusUnsupportedMediaType, codes.InvalidArgument,
			fmt.Sprintf("Content-Type is %.60q; %s and %s are known", r.Header.Get("Content-Type"), protoType, jsonType))
		return
	}
	if err := o.known(r.Header.Values(versionHeader)); err != nil {
		writeStatus(w, r, http.StatusBadRequest, codes.InvalidArgument, err.Error())
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		if p := server.BodyProblem(err); p != nil {
			o.in.Refuse(receiver.Refused(p))
			writeProblem(w, r, p)
			return
		}
		writeError(w, r, err)
		return
	}
	name := cmp.Or(r.PathValue("service"), o.opts.Service)
	rejected, err := o.export(r.Context(), body, name)
	if err != nil {
		writeError(w, r, err)
		return
	}
	if rejected.profiles > 0 {
		server.Explain(r.Context(), rejected.text())
	}
	write(w, r, http.StatusOK, rejected.answer())
}

// rejection is what of a request was not stored.
type rejection struct {
	profiles int
	errs     []error
}

// maxErrors is how many errors of one request are told.
const maxErrors = 5

// answer returns the answer to a request; that of a full success is empty.
func (r rejection) answer() *answer {
	if r.profiles == 0 {
		return &answer{}
	}
	return &answer{&partialSuccess{int64(r.profiles), r.text()}}
}

// text returns why something was not stored.
func (r rejection) text() string {
	return errors.Join(r.errs[:min(len(r.errs), maxErrors)]...).Error()
}

// export stores the profiles of a request. An error is a status: nothing is stored then.
func (o *OTLP) export(ctx context.Context, request []byte, name string) (rejected rejection, err error) {
	err = o.in.Push(ctx, server.Client(ctx), func(w *intake.Worker) error {
		var list []otlp.Resource
		digest := sha256.Sum256(request)
		err := w.Read("otlp", int64(len(request)), func() profile.Decoder { return otlp.NewDecoder() },
			func(d profile.Decoder, s *profile.Symbols, l profile.Limits) (err error) {
				list, err = d.(*otlp.Decoder).DecodeEach(request, s, l)
				return err
			})
		if err != nil {
			return err
		}
		var later error // why a resource may be sent again
		stored := false
		for i := range list {
			err := list[i].Err
			if err == nil {
				err = o.add(w, &list[i], name, fmt.Sprintf("%x/%d", digest, i), int64(len(request)/len(list)))
			}
			if err == nil {
				stored = true
				continue
			}
			if errors.Is(err, intake.ErrUnavailable) {
				later = err
			}
			service, _, _ := identity(list[i].Attributes, name)
			rejected.profiles += max(1, list[i].Profiles)
			rejected.errs = append(rejected.errs, intake.Of(service, err))
		}
		if later != nil && !stored { // the whole request may be sent again
			return later
		}
		for _, err := range rejected.errs {
			o.in.Refuse(err)
		}
		return nil
	})
	return rejected, receiver.Status(err)
}

// add adds the profiles of a resource. Clients send a request again whose answer they did not
// get: if its profiles have no time, its place in the bytes of the request tells them from others.
func (o *OTLP) add(w *intake.Worker, r *otlp.Resource, name, place string, size int64) error {
	out := &intake.Profile{Profile: r.Profile, ID: r.IDs, Bytes: size}
	out.Service, out.Default, out.Labels = identity(r.Attributes, name)
	out.Type, out.Scale = types(r.Profile)
	receiver.SetWindow(out, r.Profile.Start, r.Profile.Start.Add(r.Profile.Duration), o.now())
	if out.Arrival && out.ID == "" {
		out.ID = place
	}
	return w.Add(out)
}

// writeError answers with an error of export.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	st := status.Convert(server.StatusOf(err))
	if pause := server.RetryAfter(err); pause > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(pause/time.Second))))
	}
	writeStatus(w, r, connect.HTTPStatus(st.Code()), st.Code(), st.Message())
}

// writeProblem answers a request that the server refused.
func writeProblem(w http.ResponseWriter, r *http.Request, p *server.Problem) {
	if kind(r) != protoType {
		server.WriteProblemAs(w, r, p, jsonType, func(p *server.Problem) any {
			return map[string]any{"code": codeOf(p.Status), "message": p.Text()}
		})
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "5")
	}
	writeStatus(w, r, p.Status, codeOf(p.Status), p.Text())
}

// codeOf returns the code for a status of the server.
func codeOf(status int) codes.Code {
	switch status {
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusServiceUnavailable:
		return codes.Unavailable
	case http.StatusTooManyRequests:
		return codes.ResourceExhausted
	}
	return codes.InvalidArgument
}

// writeStatus answers with a google.rpc.Status.
func writeStatus(w http.ResponseWriter, r *http.Request, httpStatus int, code codes.Code, message string) {
	server.Explain(r.Context(), message)
	write(w, r, httpStatus, &rpcStatus{int32(code), server.Shown(r.Context(), message)})
}

// write answers with a message in the encoding of the request.
func write[T any](w http.ResponseWriter, r *http.Request, httpStatus int, v *T) {
	contentType, msg := protoType, []byte(protobuf.Encode(v))
	if kind(r) == jsonType {
		contentType = jsonType
		msg, _ = protobuf.Of[T]().JSON(msg) // it is not damaged
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(httpStatus)
	w.Write(msg)
}
