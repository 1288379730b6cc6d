// Package locks answers who holds the locks of thread dumps, who waits for them, and which threads
// wait for each other.
//
// It models threads of a dump by what their labels say of locks. Words: a holder is the thread that
// has a lock; a deadlock is a circle of threads that wait.
//
// It does not model the text of dumps, which package threaddump reads, nor which samples are shown.
package locks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/table"
)

// Locks is who holds the locks of thread dumps and who waits for them.
type Locks struct {
	Dumps     int        `json:"dumps"`
	Deadlocks []Deadlock `json:"deadlocks"`
	Rows      []Row      `json:"rows"`
}

// Deadlock is a circle of threads: each waits for the lock of the same index, which the
// next thread holds; the last one's is held by the first.
type Deadlock struct {
	Threads []string `json:"threads"`
	Locks   []string `json:"locks"`
	Dumps   int      `json:"dumps"` // that have it
}

// Row is a lock, in the dump in which most threads wait for it. HeldBy is empty where
// the dump does not say who holds it.
type Row struct {
	Lock     string   `json:"lock"`    // class@address
	Waiting  int      `json:"waiting"` // threads
	Dumps    int      `json:"dumps"`   // in which it is held or waited for
	HeldBy   string   `json:"heldBy"`
	State    string   `json:"state"` // of the holder
	In       string   `json:"in"`    // innermost function of the holder that is the user's own, else its innermost
	Deadlock int      `json:"deadlock,omitempty"`
	Waiters  []Waiter `json:"waiters"`
}

// Waiter is a thread that waits for a lock.
type Waiter struct {
	Thread string `json:"thread"`
	State  string `json:"state"`
	In     string `json:"in"` // as in Row
}

// Dumps collects the locks of dumps.
type Dumps struct {
	n         int
	rows      map[string]*Row
	deadlocks []Deadlock
	circles   map[string]int // number of a deadlock by its threads and locks
}

// New returns no dumps.
func New() *Dumps {
	return &Dumps{rows: map[string]*Row{}, circles: map[string]int{}}
}

// Locks returns the locks of the dumps, those with most waiting threads first.
func (t *Dumps) Locks() Locks {
	return Locks{Dumps: t.n, Deadlocks: t.deadlocks, Rows: t.sorted()}
}

// dump is one dump: its threads that hold a lock or wait for one.
type dump struct {
	threads []thread
	holder  map[string]int // thread that holds a lock
	named   map[string]int // thread of a name, the first
}

type thread struct {
	Waiter
	wants, owner string
	holds        []string
	dead         bool // the dump lists it in a deadlock
}

// Add adds the dumps of a profile, of whose functions some are the user's own, and reports whether
// they say anything of locks.
func (t *Dumps) Add(shown *calltree.Shown, v *calltree.Viewer, own []bool) (any bool) {
	states, names := v.States(), v.ThreadNames()
	d, at, first := newDump(), int64(0), true
	for x := range shown.Samples() {
		if !first && x.Time != at {
			t.add(d)
			d = newDump()
		}
		at, first = x.Time, false
		one := thread{Waiter: Waiter{Thread: names[x.Thread], State: states[x.State], In: placeOf(shown.Tree, own, x.Node)}}
		for _, l := range v.Labels(x.Labels) {
			switch l.Key {
			case profile.LabelLock:
				one.wants = l.Text
			case profile.LabelOwner:
				one.owner = l.Text
			case profile.LabelHolds:
				one.holds = append(one.holds, l.Text)
			case profile.LabelDeadlock:
				one.dead = true
			}
		}
		any = any || one.wants != "" || one.holds != nil
		d.add(one)
	}
	if !first {
		t.add(d)
	}
	return any
}

// placeOf returns the innermost function of a stack that is the user's own, else its
// innermost one.
func placeOf(t *calltree.Tree, own []bool, node int32) string {
	if node == calltree.NoNode {
		return ""
	}
	for n := node; n != calltree.NoNode; n = t.Parent[n] {
		if own[t.Func[n]] {
			return t.Functions[t.Func[n]].Name
		}
	}
	return t.Functions[t.Func[node]].Name
}

func newDump() *dump {
	return &dump{holder: map[string]int{}, named: map[string]int{}}
}

func (d *dump) add(x thread) {
	n := len(d.threads)
	d.threads = append(d.threads, x)
	if _, ok := d.named[x.Thread]; !ok {
		d.named[x.Thread] = n
	}
	for _, lock := range x.holds {
		d.holder[lock] = n
	}
}

// holderOf returns the thread that holds what thread n waits for, or -1.
func (d *dump) holderOf(n int) int {
	x := &d.threads[n]
	if x.wants == "" {
		return -1
	}
	if h, ok := d.holder[x.wants]; ok && h != n {
		return h
	}
	if h, ok := d.named[x.owner]; ok && x.owner != "" && h != n {
		return h
	}
	return -1
}

// isLock reports whether a thread waits for a lock, and not for a condition or for work.
func (x *thread) isLock(holder int) bool {
	return x.wants != "" && (holder >= 0 || x.owner != "" || x.dead || x.State == "BLOCKED" || strings.Contains(x.wants, ".Reentrant"))
}

// add adds a dump.
func (t *Dumps) add(d *dump) {
	t.n++
	now := map[string]*Row{}
	row := func(lock string) *Row {
		r := now[lock]
		if r == nil {
			r = &Row{Lock: lock, Waiters: []Waiter{}}
			if h, ok := d.holder[lock]; ok {
				x := &d.threads[h]
				r.HeldBy, r.State, r.In = x.Thread, x.State, x.In
			}
			now[lock] = r
		}
		return r
	}
	for lock := range d.holder {
		row(lock)
	}
	for n := range d.threads {
		x, holder := &d.threads[n], d.holderOf(n)
		if !x.isLock(holder) {
			continue
		}
		r := row(x.wants)
		r.Waiting++
		r.Waiters = append(r.Waiters, x.Waiter)
		if r.HeldBy == "" {
			if r.HeldBy = x.owner; holder >= 0 {
				h := &d.threads[holder]
				r.HeldBy, r.State, r.In = h.Thread, h.State, h.In
			}
		}
	}
	for _, circle := range d.circles() {
		n := t.deadlock(d, circle)
		for _, x := range circle {
			row(d.threads[x].wants).Deadlock = n
		}
	}
	for lock, r := range now {
		r.Dumps = 1
		if before := t.rows[lock]; before != nil {
			r.Dumps += before.Dumps
			if before.Waiting > r.Waiting {
				before.Dumps = r.Dumps
				before.Deadlock = max(before.Deadlock, r.Deadlock)
				continue
			}
		}
		t.rows[lock] = r
	}
}

// circles returns the threads of each deadlock of the dump, each waiting for the next.
func (d *dump) circles() (list [][]int) {
	seen := make([]int, len(d.threads)) // the walk that met a thread first, plus one
	for start := range d.threads {
		n := start
		for n >= 0 && seen[n] == 0 {
			seen[n] = start + 1
			n = d.holderOf(n)
		}
		if n < 0 || seen[n] != start+1 {
			continue
		}
		circle := []int{n}
		for next := d.holderOf(n); next != n; next = d.holderOf(next) {
			circle = append(circle, next)
		}
		list = append(list, circle)
	}
	return list
}

// deadlock returns the number of a deadlock, which may have been in a dump before.
func (t *Dumps) deadlock(d *dump, circle []int) int {
	least := slices.Index(circle, slices.Min(circle))
	circle = slices.Concat(circle[least:], circle[:least])
	one := Deadlock{}
	for _, n := range circle {
		one.Threads, one.Locks = append(one.Threads, d.threads[n].Thread), append(one.Locks, d.threads[n].wants)
	}
	key := strings.Join(append(slices.Clone(one.Threads), one.Locks...), "\x00")
	n, ok := t.circles[key]
	if !ok {
		t.deadlocks = append(t.deadlocks, one)
		n = len(t.deadlocks)
		t.circles[key] = n
	}
	t.deadlocks[n-1].Dumps++
	return n
}

// sorted returns the locks by waiting threads.
func (t *Dumps) sorted() []Row {
	rows := []Row{}
	for _, r := range t.rows {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Dumps, a.Dumps), cmp.Compare(a.Lock, b.Lock))
	})
	return rows
}

// Table lists locks, below the deadlocks.
func (r *Locks) Table() *table.Table {
	t := &table.Table{
		Of: "lock", Title: r.deadlockLines(),
		Columns: []table.Column{table.CountColumn("waiting"), table.TextColumn("lock"), table.TextColumn("held by"), table.TextColumn("state"),
			table.TextColumn("in"), table.TextColumn("waiting threads")},
		Empty: "no thread holds a lock or waits for one",
	}
	if r.Dumps > 1 {
		t.Columns = slices.Insert(t.Columns, 1, table.CountColumn("dumps"))
	}
	for i := range r.Rows {
		x := &r.Rows[i]
		var waiters []string
		for _, w := range x.Waiters {
			waiters = append(waiters, w.Thread)
		}
		cells := []any{x.Waiting, x.Lock, x.HeldBy, x.State, x.In, strings.Join(waiters, ", ")}
		if r.Dumps > 1 {
			cells = slices.Insert(cells, 1, any(x.Dumps))
		}
		t.Add(cells...)
	}
	return t
}

// deadlockLines says who waits for whom in each deadlock.
func (r *Locks) deadlockLines() string {
	var lines []string
	for i, d := range r.Deadlocks {
		var b strings.Builder
		fmt.Fprintf(&b, "deadlock %d: %s", i+1, d.Threads[0])
		for k, lock := range d.Locks {
			which := ", which"
			if k == 0 {
				which = ""
			}
			fmt.Fprintf(&b, "%s waits for %s, held by %s", which, lock, d.Threads[(k+1)%len(d.Threads)])
		}
		if r.Dumps > 1 {
			fmt.Fprintf(&b, " (in %d of %d dumps)", d.Dumps, r.Dumps)
		}
		lines = append(lines, words.Clean(b.String()))
	}
	return strings.Join(lines, "\n")
}
