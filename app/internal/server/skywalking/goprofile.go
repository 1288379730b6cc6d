package skywalking

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	profilev3 "skywalking.apache.org/repo/goapi/collect/language/profile/v3"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/skywalking/signatures"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/traceprof"
)

// Limits of a Go profile, which covers a whole process for some minutes.
const (
	maxGoProfile    = 30 << 20 // bytes, compressed
	maxGoInflated   = 64 << 20
	defaultGoPeriod = int64(10 * time.Millisecond) // if the profile does not state it
)

// collectGoProfiles receives the profiles of a Go agent, which sends all of them over one
// stream, in chunks. A faulty profile does not end the stream: the agent would not open
// another one, and its later profiles would be lost. An error of the store is returned at
// the end.
func (a *Agents) collectGoProfiles(c *call) error {
	in := goUpload{budget: a.budget, client: server.Client(c.Context())}
	defer func() { in.release() }()
	var failed error
	err := c.each(func(msg []byte) error {
		complete, err := in.add(msg)
		if err == nil && complete {
			err = a.NewSession(true).GoProfile(c.Context(), in.task, in.data)
			in.release()
		}
		switch {
		case errors.Is(err, ErrMalformed):
			a.counts.malformed.WithLabelValues(c.method).Inc()
			a.opts.Log.WarnContext(c.Context(), "a Go profile is dropped", "task", in.task, "error", err)
		case err != nil:
			failed = err
			a.opts.Log.ErrorContext(c.Context(), "a Go profile could not be stored", "task", in.task, "error", err)
		}
		return nil
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return c.SendMsg(nothing)
}

// goUpload is a Go profile that is being received.
type goUpload struct {
	budget *server.Budget
	client string
	task   string
	data   []byte
	held   int64 // of the budget
	broken bool  // the rest of the profile is skipped
}

// add adds a chunk and reports whether the profile is complete. It returns an error only
// once for a profile that is too large.
func (u *goUpload) add(msg []byte) (complete bool, err error) {
	m := new(profilev3.GoProfileData)
	if _, err := decode(msg, m); err != nil {
		return false, err
	}
	if m.GetTaskId() == "" || len(m.GetTaskId()) > maxID {
		return false, fmt.Errorf("%w: GoProfileData: the task's id is missing or too long", ErrMalformed)
	}
	if m.GetTaskId() != u.task {
		u.release()
		u.task, u.broken = m.GetTaskId(), false
	}
	broken := u.broken
	u.broken = broken && !m.GetIsLast()
	if broken {
		return false, nil
	}
	n := int64(len(m.GetPayload()))
	switch {
	case u.held+n > maxGoProfile:
		err = fmt.Errorf("%w: a Go profile of more than %d bytes", ErrMalformed, maxGoProfile)
	case u.budget.Acquire(context.Background(), u.client, n, 0) != nil:
		err = fmt.Errorf("%w: too many Go profiles arrive at once", ErrMalformed)
	default:
		u.data, u.held = append(u.data, m.GetPayload()...), u.held+n
		return m.GetIsLast(), nil
	}
	u.release()
	u.broken = !m.GetIsLast()
	return false, err
}

// release drops the received data.
func (u *goUpload) release() {
	u.budget.Release(u.client, u.held)
	u.data, u.held = nil, 0
}

// GoProfile stores a profile of Go's profiler and returns when it is durable. It skips
// samples without a segment label, which belong to no request.
func (s *Session) GoProfile(ctx context.Context, task string, data []byte) error {
	if err := s.readGo(ctx, task, data); err != nil {
		return err
	}
	return s.Wait(ctx)
}

func (s *Session) readGo(ctx context.Context, task string, data []byte) error {
	end, err := s.agents.alone(ctx)
	if err != nil {
		return err
	}
	defer end()
	reader := format.NewReader(profile.Limits{Inflated: maxGoInflated, Message: maxGoInflated})
	reader.Context = ctx
	for d, err := range reader.Read("profile", bytes.NewReader(data)) {
		if err != nil {
			return fmt.Errorf("%w: Go profile: %w", ErrMalformed, err)
		}
		for _, snapshots := range splitGo(d.Profile, task, s.agents.opts.Now()) {
			if err := s.stream.Snapshots(ctx, snapshots); err != nil {
				return err
			}
		}
	}
	return nil
}

// segmentLabels are the labels that agents use for the id of the segment.
var segmentLabels = map[string]bool{
	"segment_id": true, "trace_segment_id": true, "segmentId": true, "traceSegmentId": true, "traceSegmentID": true,
}

// splitGo returns the samples of each segment of a profile. All have the time of the
// profile: samples have no times of their own.
func splitGo(p *profile.Profile, task string, now int64) []traceprof.Snapshots {
	samples := samplesOf(p)
	if samples == nil || samples.Labels == nil {
		return nil
	}
	start := now
	if !p.Start.IsZero() {
		start = p.Start.UnixMilli()
	}
	period := cmp.Or(samples.Type.Interval(), defaultGoPeriod)
	segment := make([]string, len(p.LabelSets))
	for i, set := range p.LabelSets {
		for _, l := range set {
			if segmentLabels[l.Key] && len(l.Text) <= maxID {
				segment[i] = l.Text
			}
		}
	}
	forest := new(calltree.Forest)
	paths := signatures.Paths(forest, calltree.NoNode, p.Symbols, true)
	index := map[string]int{}
	var list []traceprof.Snapshots
	for i, st := range samples.Stack {
		id := segment[samples.Labels[i]]
		if id == "" || samples.Value[i] <= 0 {
			continue
		}
		at := intern.Number(index, &list, id, traceprof.Snapshots{Task: task, Segment: id, Language: traceprof.GoProfiles, Stacks: forest})
		s := &list[at]
		count := samples.Value[i]
		path := calltree.NoNode
		if st != profile.NoStack {
			path = paths[st]
		}
		nanos := int64(math.MaxInt64)
		if count <= math.MaxInt64/period {
			nanos = count * period
		}
		s.Sequence = append(s.Sequence, int32(s.Len()))
		s.Time = append(s.Time, start)
		s.Path = append(s.Path, path)
		s.Count = append(s.Count, count)
		s.Nanos = append(s.Nanos, nanos)
	}
	return list
}

// samplesOf returns the table that counts samples, or the first one if there is none.
func samplesOf(p *profile.Profile) *profile.Samples {
	if len(p.Tables) == 0 {
		return nil
	}
	i, err := p.Table(profile.CPUSamples)
	if err != nil {
		i = 0
	}
	return &p.Tables[i]
}
