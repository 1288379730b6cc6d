// Package receiver has what the protocols share by which programs push profiles: errors of
// the intake as statuses, the time of a window, the parts of a type's id, decompression
// within a limit.
//
// It has no handler and knows no message. Statuses are those of gRPC; package connect knows
// which of HTTP go with them.
package receiver

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
)

// Status returns an error of a push as a gRPC status. What may succeed later is
// UNAVAILABLE, or RESOURCE_EXHAUSTED for the rate and the number of series of a program; both
// say when. The rest is INVALID_ARGUMENT: the same push would fail again.
func Status(err error) error {
	if err == nil {
		return nil
	}
	if st, ok := status.FromError(err); ok {
		return st.Err()
	}
	refused, _ := errors.AsType[*intake.Refusal](err)
	pause := intake.RetryAfter(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return server.StatusOf(err)
	case errors.Is(err, intake.ErrClosed):
		return server.TryLater(codes.Unavailable, err.Error(), 5*time.Second)
	case refused != nil && pause > 0 && refused.Reason != "queue":
		return server.TryLater(codes.ResourceExhausted, err.Error(), pause)
	case pause > 0:
		return server.TryLater(codes.Unavailable, err.Error(), pause)
	}
	return status.Error(codes.InvalidArgument, err.Error())
}

// Refused returns, for the intake's counts, what the server refused before a receiver read it.
func Refused(p *server.Problem) error {
	reason := "invalid"
	switch p.Status {
	case http.StatusRequestEntityTooLarge:
		reason = "size"
	case http.StatusUnauthorized, http.StatusForbidden:
		reason = "token"
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		reason = "unavailable"
	}
	return &intake.Refusal{Reason: reason}
}

// CountRefused lets an intake count what the server refuses of routes, such as a body that is too
// large, with what the intake itself refuses.
func CountRefused(in *intake.Intake, routes []server.Route) {
	for i := range routes {
		answer := routes[i].Problem
		routes[i].Problem = func(w http.ResponseWriter, r *http.Request, p *server.Problem) {
			in.Refuse(Refused(p))
			answer(w, r, p)
		}
	}
}

// Bounds of the time of a window.
const (
	maxAhead  = 10 * time.Minute // of this machine's clock
	maxLength = 24 * time.Hour
)

// usable reports whether a time can be that of a window: clocks of some programs begin in
// 1970.
func usable(t, now time.Time) bool {
	return t.Year() >= 2000 && !t.After(now.Add(maxAhead))
}

// SetWindow sets start and length of a window: from and until if both can be true, else
// those of the profile, else the time until now. Profiles of heaps have the time of the dump
// and no duration, and some programs write the end where others write the start.
func SetWindow(p *intake.Profile, from, until, now time.Time) {
	if usable(from, now) && usable(until, now) && from.Before(until) && until.Sub(from) <= maxLength {
		p.Start, p.Length = from, until.Sub(from)
		return
	}
	if p.Length = p.Duration; p.Length < 0 || p.Length > maxLength {
		p.Length = 0
	}
	switch {
	case usable(p.Profile.Start, now):
		p.Start = p.Profile.Start
	case usable(from, now):
		p.Start = from
	default:
		p.Start, p.Arrival = now.Add(-p.Length), true
	}
}

// Plain returns content without gzip, if it has it. It fails beyond a limit of bytes.
func Plain(content []byte, limit int64) ([]byte, error) {
	if !bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		return content, nil
	}
	z := unpackers.Get().(*gzip.Reader)
	defer unpackers.Put(z)
	if err := z.Reset(bytes.NewReader(content)); err != nil {
		return nil, err
	}
	// The last bytes say how long the content is; if they lie, the buffer grows.
	told := int64(binary.LittleEndian.Uint32(content[max(0, len(content)-4):]))
	plain := bytes.NewBuffer(make([]byte, 0, min(told, limit, mostPacked*int64(len(content)))+bytes.MinRead))
	if _, err := plain.ReadFrom(io.LimitReader(z, limit+1)); err != nil {
		return nil, err
	}
	if int64(plain.Len()) > limit {
		return nil, intake.TooLarge(int64(plain.Len()), limit)
	}
	return plain.Bytes(), nil
}

// unpackers are readers that are used again: a new one takes as much memory as most pushes.
var unpackers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// mostPacked is how many times longer than its packed form a profile is, at most, in general.
const mostPacked = 16

// TypePart returns a text as a part of a type's id, which colons separate. One that is too long for
// the intake is cut, and still is.
func TypePart(text string) string {
	text = text[:min(len(text), intake.MaxType+1)]
	return strings.ToValidUTF8(strings.ReplaceAll(text, ":", "_"), "\uFFFD")
}

// Type returns a type of parts from outside.
func Type(name, sampleType, sampleUnit, periodType, periodUnit string) continuous.Type {
	return continuous.Type{Name: TypePart(name), SampleType: TypePart(sampleType), SampleUnit: TypePart(sampleUnit),
		PeriodType: TypePart(periodType), PeriodUnit: TypePart(periodUnit)}
}
