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
	"github.com/dendroprof/dendro/internal/wire"
)

// pushSchema has the messages of push.v1, of which annotations are dropped.
var pushSchema = connect.MustSchema(`
message PushRequest { repeated RawProfileSeries series = 1; }
message RawProfileSeries { repeated LabelPair labels = 1; repeated RawSample samples = 2; }
message LabelPair { string name = 1; string value = 2; }
message RawSample { bytes raw_profile = 1; string ID = 2; }
message PushResponse {}`)

// pusher returns push.v1.PusherService.
func (p *Pyroscope) pusher() *connect.Service {
	return &connect.Service{Name: "push.v1.PusherService", Schema: pushSchema, Agents: true,
		Methods: []connect.Method{{Name: "Push", Request: "PushRequest", Response: "PushResponse", Handle: p.push}}}
}

// The fields of the messages, all of which are bytes.
var (
	requestShape = wire.Shape{1: wire.AsBytes}
	pairShape    = wire.Shape{1: wire.AsBytes, 2: wire.AsBytes}
)

// push stores the series of a request. Series that can be stored are, also if others make
// the call fail; the error says which.
func (p *Pyroscope) push(ctx context.Context, request []byte) ([]byte, error) {
	var refused []error
	profiles := 0
	err := p.in.Push(ctx, server.Client(ctx), func(w *intake.Worker) error {
		return each(&requestShape, request, func(_ int, series []byte) error {
			n, errs, err := p.series(w, series)
			profiles += n
			refused = append(refused, errs...)
			return err
		})
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

// fieldBytes is about what a field of a series takes while the series is read, besides its text.
const fieldBytes = 64

// series adds the profiles of a series. Refused are those of errs; err is a damaged message.
func (p *Pyroscope) series(w *intake.Worker, msg []byte) (profiles int, errs []error, err error) {
	var labels []continuous.Label
	var samples [][]byte
	err = each(&pairShape, msg, func(field int, content []byte) error {
		if err := w.Expand(fieldBytes); err != nil {
			return err
		}
		if field == 2 {
			samples = append(samples, content)
			return nil
		}
		name, value, err := pair(content)
		labels = append(labels, continuous.Label{Name: string(name), Value: string(value)})
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	for _, sample := range samples {
		raw, id, err := pair(sample)
		if err != nil {
			return profiles, errs, err
		}
		profiles++
		if err := p.sample(w, intake.Labels(labels), raw, string(id)); err != nil {
			service := intake.Labels(labels).Get(continuous.ServiceLabel)
			errs = append(errs, intake.Of(cmp.Or(service, unknownService), err))
		}
	}
	return profiles, errs, nil
}

// sample adds one pprof profile of a series.
func (p *Pyroscope) sample(w *intake.Worker, labels continuous.Labels, content []byte, id string) error {
	decoded, err := decodePprof(w, content)
	if err != nil || decoded == nil {
		return err
	}
	metric, labels := labels.Cut(nameLabel)
	service, labels := labels.Cut(continuous.ServiceLabel)
	if service == "" {
		service = unknownService
	}
	out := &intake.Profile{Profile: decoded, Service: service, Labels: labels, Type: pprofTypes(decoded, metric, nil), ID: id,
		Bytes: int64(len(content))}
	receiver.SetWindow(out, decoded.Start, decoded.Start.Add(decoded.Duration), p.now())
	return w.Add(out)
}

// each calls take with the number and the bytes of every field that a shape knows.
func each(shape *wire.Shape, msg []byte, take func(field int, content []byte) error) error {
	for pos := 0; pos < len(msg); {
		f, err := shape.Next(msg, pos, len(msg))
		if err != nil {
			return fmt.Errorf("the message is damaged at byte %d: %w", pos, err)
		}
		if shape.Known(f.Num) {
			if err := take(f.Num, msg[f.Lo:f.Hi]); err != nil {
				return err
			}
		}
		pos = f.Hi
	}
	return nil
}

// pair returns the fields 1 and 2 of a message, which are parts of it.
func pair(msg []byte) (first, second []byte, err error) {
	err = each(&pairShape, msg, func(field int, content []byte) error {
		if field == 1 {
			first = content
		} else {
			second = content
		}
		return nil
	})
	return first, second, err
}
