package pyroscope

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/connect"
	"github.com/dendroprof/dendro/app/internal/server/receiver"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/wire"
)

// The messages of push.v1, of which annotations are dropped.
type (
	pushRequest struct {
		Series []protobuf.Encoded[rawProfileSeries] `pb:"1 series"`
	}
	rawProfileSeries struct {
		Labels  []labelPair `pb:"1 labels"`
		Samples []rawSample `pb:"2 samples"`
	}
	labelPair struct {
		Name  string `pb:"1 name"`
		Value string `pb:"2 value"`
	}
	rawSample struct {
		RawProfile []byte `pb:"1 raw_profile"`
		ID         string `pb:"2 ID"`
	}
	pushResponse struct{}
)

// pusher returns push.v1.PusherService.
func (p *Pyroscope) pusher() *connect.Service {
	return &connect.Service{Name: "push.v1.PusherService", Agents: true, Methods: []connect.Method{{Name: "Push",
		Request: protobuf.Of[pushRequest]().Message, Response: protobuf.Of[pushResponse]().Message, Handle: p.push}}}
}

// push stores the series of a request. Series that can be stored are, also if others make
// the call fail; the error says which.
func (p *Pyroscope) push(ctx context.Context, request []byte) ([]byte, error) {
	var refused []error
	profiles := 0
	err := p.in.Push(ctx, server.Client(ctx), func(w *intake.Worker) error {
		all, err := decode[pushRequest](w.Expand, request)
		for i := 0; i < len(all.Series) && err == nil; i++ {
			var n int
			var errs []error
			n, errs, err = p.series(w, all.Series[i])
			profiles += n
			refused = append(refused, errs...)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, receiver.Status(err)
	case len(refused) > 0:
		for _, err := range refused {
			p.in.Refuse(err)
		}
		return nil, receiver.Status(joined(refused, profiles))
	case profiles == 0:
		return nil, status.Error(codes.InvalidArgument, "no profiles received")
	}
	return nil, nil
}

// maxErrors is how many errors of one request are told.
const maxErrors = 5

// joined returns errors of some of the profiles of a request.
func joined(errs []error, of int) error {
	if len(errs) == 1 && of == 1 {
		return errs[0]
	}
	text := fmt.Errorf("%d of %d profiles were refused, the others are stored", len(errs), of)
	return errors.Join(append([]error{text}, errs[:min(len(errs), maxErrors)]...)...)
}

// fieldBytes is about what a label takes, besides its text.
const fieldBytes = 64

// decode reads a message. What it takes in memory is counted.
func decode[T any](expand func(bytes int64) error, msg []byte) (v T, err error) {
	err = protobuf.Of[T]().Decode(&protobuf.Decoder{Expand: expand}, &v, msg)
	if damaged, ok := errors.AsType[*wire.Error](err); ok {
		err = fmt.Errorf("the message is damaged at byte %d: %w", damaged.At, err)
	}
	return v, err
}

// series adds the profiles of a series. Refused are those of errs; err is a damaged message.
func (p *Pyroscope) series(w *intake.Worker, msg []byte) (profiles int, errs []error, err error) {
	series, err := decode[rawProfileSeries](w.Expand, msg)
	if err == nil {
		err = w.Expand(int64(len(series.Labels)) * fieldBytes)
	}
	if err != nil {
		return 0, nil, err
	}
	list := column.Of(series.Labels, func(l labelPair) continuous.Label { return continuous.Label(l) })
	metric, labels := intake.Labels(list).Cut(nameLabel)
	service, labels := labels.Cut(continuous.ServiceLabel)
	service = cmp.Or(service, unknownService)
	for i := range series.Samples {
		s := &series.Samples[i]
		if err := p.sample(w, metric, service, labels, s); err != nil {
			errs = append(errs, intake.Of(service, err))
		}
	}
	return len(series.Samples), errs, nil
}

// sample adds one pprof profile of a series.
func (p *Pyroscope) sample(w *intake.Worker, metric, service string, labels continuous.Labels, s *rawSample) error {
	decoded, err := decodePprof(w, s.RawProfile)
	if err != nil || decoded == nil {
		return err
	}
	out := &intake.Profile{Profile: decoded, Service: service, Labels: labels, Type: pprofTypes(decoded, metric, nil), ID: s.ID,
		Bytes: int64(len(s.RawProfile))}
	receiver.SetWindow(out, decoded.Start, decoded.Start.Add(decoded.Duration), p.now())
	return w.Add(out)
}
