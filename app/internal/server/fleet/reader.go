package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/merged"
	"github.com/dendroprof/dendro/continuous/record"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/words"
)

// ReaderOptions configure a Reader.
type ReaderOptions struct {
	Workers []string // addresses, http://HOST:PORT
	Token   string   // for reading; empty: none
	Client  *http.Client
	// Lake has the hours before those of the workers; nil: there is none.
	Lake   *Late[Lake]
	Logger *slog.Logger
}

// Lake has hours of partitions that workers handed over.
type Lake interface {
	io.Closer
	// Before returns the hours before a time, of each partition; all of a partition that has none.
	Before(map[int32]time.Time) continuous.Store
	// Reach returns which hours it has, of each partition.
	Reach(context.Context) (map[int32]continuous.Reach, error)
}

// Reader asks workers. It is safe for concurrent use. Its Part looks after the workers.
type Reader struct {
	opts    ReaderOptions
	workers []*remote

	mu       sync.Mutex
	total    int32                      // partitions of the topic; 0: no worker has said
	services map[int32][]string         // of each partition, as it was last told
	reach    map[int32]continuous.Reach // of each partition: what the lake has, as it was last told; nil: it was not
	missing  string

	lake server.Health

	down, gapped prometheus.GaugeFunc
}

// remote is a worker as a reader knows it.
type remote struct {
	address string
	reader  *Reader

	mu     sync.Mutex
	status *status         // nil: it does not answer
	up     context.Context // ends when it does not answer any more
	fall   context.CancelFunc
}

// NewReader returns a reader of workers, none of which has to answer yet.
func NewReader(o ReaderOptions) *Reader {
	r := &Reader{opts: o, services: map[int32][]string{}, lake: server.Health{Log: o.Logger}}
	r.lake.Set(errNotConnected)
	for _, address := range o.Workers {
		r.workers = append(r.workers, &remote{address: strings.TrimSuffix(address, "/"), reader: r})
	}
	gauge := func(name, help string, value func() int) prometheus.GaugeFunc {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "dendro_reader_" + name, Help: help},
			func() float64 { return float64(value()) })
	}
	r.down = gauge("workers_down", "Workers that do not answer.", func() (n int) {
		for _, w := range r.workers {
			if w.now() == nil {
				n++
			}
		}
		return n
	})
	r.gapped = gauge("partitions_missing", "Partitions that no worker answers for, or not with everything, but for hours that are lost.", func() int {
		return len(r.gaps(r.places(), false))
	})
	return r
}

// Part returns the reader as a part of a server.
func (r *Reader) Part() server.Part {
	return server.Part{Name: "reader", Run: r.run, Metrics: []prometheus.Collector{r.down, r.gapped}, Notice: r.Missing,
		Ready: func(ctx context.Context) error {
			if _, open := r.opts.Lake.now(); open || r.opts.Lake == nil {
				return nil
			}
			return r.lake.Ready(ctx)
		}}
}

// Windows returns the windows of all workers: those that start before the ones of a partition's
// worker, or all if it has none, from the lake.
func (r *Reader) Windows() continuous.Store {
	return &merged.Store{Parts: r.parts, Missing: func(err error) bool {
		if r.opts.Lake == nil || !r.opts.Lake.isDown(err) {
			return false
		}
		r.lake.Set(err)
		r.say(r.places())
		return true
	}}
}

// parts returns the partitions of the workers, and the lake with what they do not have.
func (r *Reader) parts(ctx context.Context) (list []continuous.Store, answered func(), err error) {
	if r.partitions() == 0 {
		r.look(ctx)
	}
	places := r.places()
	r.say(places)
	until := map[int32]time.Time{}
	for _, number := range slices.Sorted(maps.Keys(places)) {
		p := places[number]
		list = append(list, &remotePartition{worker: p.worker, number: number, from: p.From})
		until[number] = p.From
	}
	if lake, open := r.opts.Lake.now(); open {
		if _, needed := r.needsLake(places); needed {
			list = append(list, lake.Before(until))
		}
	}
	return list, nil, nil
}

// needsLake reports whether there is a lake and workers do not have everything, and the latest time
// from which on one has it.
func (r *Reader) needsLake(places map[int32]held) (from time.Time, needed bool) {
	total := int(r.partitions())
	needed = total == 0 || len(places) < total
	for _, p := range places {
		from = continuous.Later(from, p.From)
	}
	return from, r.opts.Lake != nil && (needed || !from.IsZero())
}

const (
	lookEvery     = time.Second
	lookWithin    = 2 * time.Second
	servicesEvery = 15 // looks
	servicesOf    = time.Hour
	askLakeEvery  = 5 * time.Second
)

// run looks after the workers until the context ends.
func (r *Reader) run(ctx context.Context) error {
	if r.opts.Lake != nil {
		var asking sync.WaitGroup
		defer asking.Wait()
		asking.Go(func() { r.followLake(ctx) })
	}
	n := 0
	once := func(time.Time) {
		r.look(ctx)
		r.learn(ctx, n%servicesEvery == 0)
		n++
	}
	once(time.Now())
	server.Every(ctx, lookEvery, once)
	return nil
}

// followLake asks what the lake has until the context ends.
func (r *Reader) followLake(ctx context.Context) {
	ask := func() (err error) {
		if err := r.opts.Lake.try(ctx); err != nil {
			return err
		}
		lake, _ := r.opts.Lake.now()
		reach, err := lake.Reach(ctx)
		if err == nil {
			r.mu.Lock()
			r.reach = reach
			r.mu.Unlock()
		}
		return err
	}
	for r.lake.Until(ctx, "the lake does not answer", ask) {
		select {
		case <-time.After(askLakeEvery):
		case <-ctx.Done():
		}
	}
}

// partitions returns how many the topic has; 0: no worker has said.
func (r *Reader) partitions() int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// look asks all workers what they hold.
func (r *Reader) look(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, lookWithin)
	defer stop()
	var all sync.WaitGroup
	for _, w := range r.workers {
		all.Go(func() {
			s := &status{}
			w.told(s, w.ask(ctx, http.MethodGet, address, nil, s))
		})
	}
	all.Wait()
	r.say(r.places())
}

// told remembers what a worker said, or that it did not.
func (w *remote) told(s *status, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.status != nil
	if err != nil {
		if w.status = nil; was {
			w.fall()
			w.reader.opts.Logger.Warn("a worker does not answer", "worker", w.address, "error", err)
		}
		return
	}
	w.status = s
	if !was {
		w.up, w.fall = context.WithCancel(context.Background())
		w.reader.opts.Logger.Info("a worker answers", "worker", w.address, "partitions", len(s.Partitions))
	}
	w.reader.mu.Lock()
	defer w.reader.mu.Unlock()
	w.reader.total = max(w.reader.total, s.Total)
}

// now returns what a worker holds, nil if it does not answer.
func (w *remote) now() *status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// held is a partition with the worker that holds it.
type held struct {
	place
	worker     *remote
	generation int32
}

// places returns who holds what: of two workers that say so, the one that heard later from the
// group does.
func (r *Reader) places() map[int32]held {
	r.mu.Lock()
	reach := r.reach
	r.mu.Unlock()
	all := map[int32]held{}
	for _, w := range r.workers {
		s := w.now()
		if s == nil {
			continue
		}
		for _, p := range s.Partitions {
			if have, ok := all[p.Partition]; !ok || s.Generation > have.generation {
				p.From = fullDay(p.From, reach[p.Partition])
				all[p.Partition] = held{p, w, s.Generation}
			}
		}
	}
	return all
}

// fullDay returns from when on a worker is asked that has windows from a time on: a day of which the lake has the rest
// is read from there as a whole, because it becomes one sum when hours are not kept any more.
func fullDay(from time.Time, reach continuous.Reach) time.Time {
	day := continuous.DayOf(from)
	if from.After(day) {
		day = day.Add(24 * time.Hour)
	}
	if from.IsZero() || reach.Until.Before(day) || time.Since(day) < Latest {
		return from
	}
	return day
}

// gaps returns the partitions that nobody holds, or not with everything. Lost says whether those
// count of which hours are lost that the lake would have, for good.
func (r *Reader) gaps(places map[int32]held, lost bool) (list []int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range r.total {
		reach := r.reach[n]
		if p, ok := places[n]; !ok || !p.Complete || r.reach != nil && (reach.Until.Before(p.Read) || lost && len(reach.Before(p.Read)) > 0) {
			list = append(list, n)
		}
	}
	return list
}

// named reports whether services of a partition are known.
func (r *Reader) named(number int32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.services[number]) > 0
}

// learn asks which services the partitions have, to name them when they are missing: all of them,
// or those of which no service is known.
func (r *Reader) learn(ctx context.Context, all bool) {
	ctx, stop := context.WithTimeout(ctx, 10*lookWithin)
	defer stop()
	for number, p := range r.places() {
		if !p.Complete || !all && r.named(number) {
			continue
		}
		var list []string
		part := &remotePartition{worker: p.worker, number: number, from: p.From}
		if err := part.ask(ctx, "services", &question{Query: continuous.Query{From: time.Now().Add(-servicesOf)}}, &list); err == nil {
			r.mu.Lock()
			r.services[number] = list
			r.mu.Unlock()
		}
	}
}

// Missing says what answers lack now; empty: nothing.
func (r *Reader) Missing() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.missing
}

// say makes what Missing says.
func (r *Reader) say(places map[int32]held) {
	gaps := r.gaps(places, true)
	var parts []string
	var down []*remote
	for _, w := range r.workers {
		if w.now() == nil {
			down = append(down, w)
		}
	}
	if len(down) > 0 {
		verb := "do not answer"
		if len(down) == 1 {
			verb = "does not answer"
		}
		parts = append(parts, fmt.Sprintf("%d of %d workers %s", len(down), len(r.workers), verb))
	}
	if from, needed := r.needsLake(places); needed && r.lake.Ready(context.Background()) != nil {
		text := "the lake does not answer"
		if !from.IsZero() {
			text += ": hours before " + spoken(from) + " are missing"
		}
		parts = append(parts, text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	said, lagging := map[lack][]string{}, lack{"service", "may lack windows"}
	for _, n := range gaps {
		names := r.services[n]
		p, ok := places[n]
		what := lack{"service", "are missing"}
		reach := r.reach[n]
		switch {
		case ok && !p.Complete:
			parts = append(parts, fmt.Sprintf("partition %d is being read again (record %d of %d)", n, p.Next, p.End))
			said[lagging] = append(said[lagging], names...)
			continue
		case ok:
			what.text = lost(reach.Before(p.Read))
		case !reach.Until.IsZero():
			what.text = strings.TrimPrefix(lost(reach.Lost)+", end at "+spoken(reach.Until), ", ")
		}
		if len(names) == 0 {
			what.noun, names = "partition", []string{fmt.Sprint(n)}
		}
		said[what] = append(said[what], names...)
	}
	for _, what := range slices.SortedFunc(maps.Keys(said), lack.compare) {
		switch names := said[what]; len(names) {
		case 0:
		case 1:
			parts = append(parts, fmt.Sprintf("%s %s %s", what.noun, list(names), ofOne.Replace(what.text)))
		default:
			parts = append(parts, fmt.Sprintf("%ss %s %s", what.noun, list(names), what.text))
		}
	}
	if r.total == 0 && len(down) == 0 {
		parts = append(parts, "no worker holds a partition yet")
	}
	r.missing = strings.Join(parts, "; ")
}

// lack is a reason why an answer is incomplete, and what it is about: "service" or "partition".
type lack struct{ noun, text string }

// ofOne makes the text of a lack that of one service.
var ofOne = strings.NewReplacer("are ", "is ", "may lack ", "may lack ", "lack ", "lacks ", "end ", "ends ")

// compare orders services before partitions.
func (l lack) compare(m lack) int {
	return cmp.Or(cmp.Compare(m.noun, l.noun), cmp.Compare(l.text, m.text))
}

// lost says which times are lost.
func lost(spans []continuous.Span) string {
	list := column.Of(spans, func(s continuous.Span) string { return "lack " + spoken(s.From) + " to " + spoken(s.Until) })
	return strings.Join(list, ", ")
}

// spoken writes the begin of an hour.
func spoken(t time.Time) string {
	if t.IsZero() {
		return "the first window"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// mostNames is how many services are named.
const mostNames = 10

// list returns names for people, in order.
func list(names []string) string {
	slices.Sort(names)
	names = words.CleanAll(slices.Compact(names))
	if more := len(names) - mostNames; more > 0 {
		return strings.Join(names[:mostNames], ", ") + " and " + words.Plural(more, "other")
	}
	return strings.Join(names, ", ")
}

// errDown is the error of a worker that does not answer.
func (w *remote) errDown(err error) error {
	return fmt.Errorf("worker %s does not answer: %w: %w", w.address, merged.ErrMissing, err)
}

// maxAnswer is the maximum of bytes of an answer.
const maxAnswer = 1 << 30

// ask sends a question and decodes the answer.
func (w *remote) ask(ctx context.Context, method, path string, body, answer any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, w.address+path, content)
	if err != nil {
		return err
	}
	if req.Header.Set("Content-Type", "application/json"); w.reader.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+w.reader.opts.Token)
	}
	reply, err := w.reader.opts.Client.Do(req)
	if err != nil {
		return w.errDown(err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		var problem struct {
			server.Problem
			Summed *continuous.SummedError `json:"summed"`
		}
		_ = json.NewDecoder(io.LimitReader(reply.Body, 1<<20)).Decode(&problem) // the status says enough
		err := errors.New(cmp.Or(problem.Detail, problem.Title, reply.Status))
		switch {
		case problem.Type == problemTooLarge:
			return continuous.ErrTooLarge
		case problem.Type == problemNotHeld:
			return errNotHeld
		case problem.Summed != nil:
			return problem.Summed
		case reply.StatusCode == http.StatusBadRequest:
			return err
		}
		return w.errDown(err)
	}
	if err := json.NewDecoder(io.LimitReader(reply.Body, maxAnswer)).Decode(answer); err != nil {
		return w.errDown(err)
	}
	return nil
}

// remotePartition is a partition that a worker holds.
type remotePartition struct {
	merged.ReadOnly
	worker *remote
	number int32
	from   time.Time // earlier windows are not asked for
}

// ask asks the worker, for as long as it answers at all.
func (p *remotePartition) ask(ctx context.Context, what string, q *question, answer any) error {
	err := p.askOnce(ctx, what, q, answer)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !errors.Is(err, merged.ErrMissing) {
		return err
	}
	// The partition may have moved, and what is missing is said with this answer.
	r := p.worker.reader
	r.look(ctx)
	if now, ok := r.places()[p.number]; ok && now.worker != p.worker {
		return (&remotePartition{worker: now.worker, number: p.number, from: now.From}).askOnce(ctx, what, q, answer)
	}
	return err
}

func (p *remotePartition) askOnce(ctx context.Context, what string, q *question, answer any) error {
	w := p.worker
	q.Query.From = continuous.Later(q.Query.From, p.from)
	w.mu.Lock()
	up := w.up
	w.mu.Unlock()
	asking, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(up, stop)()
	return w.ask(asking, http.MethodPost, fmt.Sprintf("%s/%d/%s", address, p.number, what), q, answer)
}

// Series implements continuous.Store.
func (p *remotePartition) Series(ctx context.Context, q continuous.Query) (list []continuous.Series, err error) {
	err = p.ask(ctx, "series", &question{Query: q}, &list)
	return list, err
}

// Totals implements continuous.Store.
func (p *remotePartition) Totals(ctx context.Context, q continuous.Query, step time.Duration) (*continuous.Totals, error) {
	var answer continuous.Totals
	err := p.ask(ctx, "totals", &question{Query: q, Step: step}, &answer)
	return &answer, err
}

// Function implements continuous.Store.
func (p *remotePartition) Function(ctx context.Context, q continuous.Query, name string, step time.Duration) (*continuous.Amounts, error) {
	var answer continuous.Amounts
	err := p.ask(ctx, "function", &question{Query: q, Step: step, Name: name}, &answer)
	return &answer, err
}

// Tree implements continuous.Store.
func (p *remotePartition) Tree(ctx context.Context, q continuous.Query) (*continuous.Merged, error) {
	var answer tree
	if err := p.ask(ctx, "tree", &question{Query: q}, &answer); err != nil {
		return nil, err
	}
	t, err := record.ReadTree(answer.Tree)
	if err != nil {
		return nil, fmt.Errorf("worker %s: %w", p.worker.address, err)
	}
	answer.Merged.Tree = t
	return &answer.Merged, nil
}

// WindowStats implements continuous.Store.
func (p *remotePartition) WindowStats(ctx context.Context) (stats continuous.Stats, err error) {
	err = p.ask(ctx, "stats", &question{}, &stats)
	return stats, err
}

// CheckWorkers returns an error for an address that is none.
func CheckWorkers(addresses []string) error {
	for _, a := range addresses {
		if u, err := url.Parse(a); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("%q is no address of a worker, such as http://10.0.0.1:12800", a)
		}
	}
	return nil
}
