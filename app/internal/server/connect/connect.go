// Package connect serves unary methods of protobuf services over the Connect protocol
// (https://connectrpc.com/docs/protocol) and over gRPC, from one description. SkyWalking's services,
// whose streams it does not know, take its handler of encoded messages.
//
// Messages are structs that package protobuf describes. Over HTTP, clients send
// `application/proto` or `application/json`; JSON is translated, so that methods know one
// encoding only. Errors are gRPC statuses: over HTTP they become a status and
// `{"code": …, "message": …}`.
//
// Streams, GET requests and gRPC-Web are not supported.
package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/format/protobuf"
)

// Service is a protobuf service with unary methods.
type Service struct {
	Name    string       // with its package: push.v1.PusherService
	Needs   server.Needs // of HTTP routes
	Agents  bool         // the agents' token is enough
	Methods []Method
}

// Method is a unary method.
type Method struct {
	Name              string
	Request, Response *protobuf.Message
	Strict            bool // a field of a request that is not known is an error: it may select

	// Handle answers an encoded message with an encoded message. The request may not be
	// retained. Errors are gRPC statuses; others are converted with server.StatusOf.
	Handle func(ctx context.Context, request []byte) ([]byte, error)
}

// maxRequest bounds what a request of Unary takes in memory, beyond its bytes.
const maxRequest = 1 << 20

// Unary returns a method that answers a struct, which has all fields of the message: what it
// has not is an error, and not ignored.
func Unary[Q, A any](name string, answer func(context.Context, *Q) (protobuf.Encoded[A], error)) Method {
	request := protobuf.Of[Q]()
	return Method{Name: name, Request: request.Message, Response: protobuf.Of[A]().Message, Strict: true,
		Handle: func(ctx context.Context, msg []byte) ([]byte, error) {
			left := int64(maxRequest)
			d := protobuf.Decoder{Strict: true, Expand: func(bytes int64) error {
				if left -= bytes; left < 0 {
					return fmt.Errorf("it takes more than %d bytes of memory", maxRequest)
				}
				return nil
			}}
			var q Q
			if err := request.Decode(&d, &q, msg); err != nil {
				if err := unknownField(err); err != nil {
					return nil, err
				}
				return nil, status.Errorf(codes.InvalidArgument, "the message %s is damaged or too large: %v", request, err)
			}
			return answer(ctx, &q)
		}}
}

// unknownField returns the error of a request with a field that is not known; nil of others.
func unknownField(err error) error {
	unknown, ok := errors.AsType[*protobuf.UnknownFieldError](err)
	if !ok {
		return nil
	}
	return status.Errorf(codes.Unimplemented, "%v: an answer without it may be to another question", unknown)
}

// Routes returns the HTTP routes of the service. A method that it lacks is unimplemented.
func (s *Service) Routes() []server.Route {
	routes := make([]server.Route, 0, len(s.Methods))
	for i := range s.Methods {
		m := &s.Methods[i]
		routes = append(routes, server.Route{
			Pattern: "POST /" + s.Name + "/" + m.Name,
			Handler: http.HandlerFunc(m.answer),
			Needs:   s.Needs,
			Agents:  s.Agents,
			Problem: WriteProblem,
		})
	}
	return append(routes, server.Route{Pattern: "POST /" + s.Name + "/{method}", Needs: s.Needs, Agents: s.Agents, Problem: WriteProblem,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			WriteError(w, r, status.Errorf(codes.Unimplemented, "%s has no method %.60q here", s.Name, r.PathValue("method")))
		})})
}

// Encodings of messages over HTTP.
const (
	protoType = "application/proto"
	jsonType  = "application/json"
)

// answer answers a request over HTTP.
func (m *Method) answer(w http.ResponseWriter, r *http.Request) {
	encoding, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || encoding != protoType && encoding != jsonType {
		w.Header().Set("Accept-Post", protoType+", "+jsonType)
		WriteProblem(w, r, &server.Problem{Type: server.TypeEncoding, Title: "The message's encoding is not known",
			Status: http.StatusUnsupportedMediaType,
			Detail: fmt.Sprintf("Content-Type is %.60q; %s and %s are known", r.Header.Get("Content-Type"), protoType, jsonType)})
		return
	}
	if v := r.Header.Get("Connect-Protocol-Version"); v != "" && v != "1" {
		WriteError(w, r, status.Errorf(codes.InvalidArgument, "Connect-Protocol-Version is %.20q; 1 is known", v))
		return
	}
	ctx, stop, err := deadline(r)
	if err != nil {
		WriteError(w, r, err)
		return
	}
	defer stop()
	request, err := io.ReadAll(r.Body)
	if err != nil {
		WriteBodyError(w, r, err)
		return
	}
	answer, err := m.call(context.WithValue(ctx, headerKey{}, r.Header), request, encoding == jsonType)
	if err != nil {
		WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", encoding)
	w.WriteHeader(http.StatusOK)
	w.Write(answer)
}

// call calls the method with a message as protobuf or JSON, and returns the answer in kind.
func (m *Method) call(ctx context.Context, request []byte, asJSON bool) ([]byte, error) {
	if asJSON {
		var err error
		if request, err = m.Request.FromJSON(request, m.Strict); err != nil {
			if err := unknownField(err); err != nil {
				return nil, err
			}
			return nil, status.Errorf(codes.InvalidArgument, "%s: %v", m.Request, err)
		}
	}
	answer, err := m.Handle(ctx, request)
	if err != nil || !asJSON {
		return answer, err
	}
	return m.Response.JSON(answer)
}

// deadline returns the context of a request with the client's time limit.
func deadline(r *http.Request) (context.Context, context.CancelFunc, error) {
	text := r.Header.Get("Connect-Timeout-Ms")
	if text == "" {
		return r.Context(), func() {}, nil
	}
	ms, err := strconv.ParseUint(text, 10, 64)
	if err != nil || len(text) > 10 {
		return nil, nil, status.Errorf(codes.InvalidArgument, "Connect-Timeout-Ms is %.20q, not a number of at most 10 digits", text)
	}
	ctx, stop := context.WithTimeout(r.Context(), time.Duration(ms)*time.Millisecond)
	return ctx, stop, nil
}

type headerKey struct{}

// Header returns the values of a header of the request that a method answers, over HTTP or
// gRPC, separated by commas; empty if there is none.
func Header(ctx context.Context, name string) string {
	if h, ok := ctx.Value(headerKey{}).(http.Header); ok {
		return strings.Join(h.Values(name), ", ")
	}
	return strings.Join(metadata.ValueFromIncomingContext(ctx, name), ", ")
}

// Register registers the service for gRPC.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	d := &grpc.ServiceDesc{ServiceName: s.Name, Metadata: s.Name}
	for i := range s.Methods {
		m := &s.Methods[i]
		d.Methods = append(d.Methods, grpc.MethodDesc{MethodName: m.Name, Handler: Handler("/"+s.Name+"/"+m.Name, m.Handle)})
	}
	r.RegisterService(d, nil)
}

// Handler returns a gRPC handler for a method over encoded messages.
func Handler(full string, handle func(context.Context, []byte) ([]byte, error)) func(any, context.Context, func(any) error,
	grpc.UnaryServerInterceptor) (any, error) {
	return func(_ any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		answer := func(ctx context.Context, _ any) (any, error) {
			var reply []byte
			var failed error
			if err := receive(Incoming(func(msg []byte) { reply, failed = handle(ctx, msg) })); err != nil {
				return nil, err
			}
			if failed != nil {
				return nil, server.StatusOf(failed)
			}
			return &message{encoded: reply}, nil
		}
		if interceptor == nil {
			return answer(ctx, nil)
		}
		// The message is read after the interceptors accept the call.
		return interceptor(ctx, nil, &grpc.UnaryServerInfo{FullMethod: full}, answer)
	}
}

// Incoming is a message to receive over gRPC: its bytes, which are invalid when read returns.
func Incoming(read func(msg []byte)) any { return &message{read: read} }

// message is an encoded message for gRPC's codec, without a copy. It implements the API of
// Go's first protobuf version, whose Unmarshal and Marshal the codec calls.
type message struct {
	read    func(msg []byte) // of a request; the bytes are invalid when it returns
	encoded []byte           // of an answer
}

// Reset does nothing: every message is used once.
func (*message) Reset() {}

// String returns nothing; messages are not logged.
func (*message) String() string { return "" }

// ProtoMessage marks it as a message.
func (*message) ProtoMessage() {}

// Unmarshal passes on the bytes.
func (m *message) Unmarshal(msg []byte) error {
	m.read(msg)
	return nil
}

// Marshal returns the bytes.
func (m *message) Marshal() ([]byte, error) { return m.encoded, nil }
