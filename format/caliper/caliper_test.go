package caliper

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(content []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(strings.NewReader(string(content)), nil, profile.Limits{Depth: 50})
}

// totals are the sums of the files of Hatchet's own tests, as its graph frames have them:
// regions of a rank each, microseconds and seconds, inclusive values left out.
var totals = map[string]map[string]int64{
	"lulesh-annotation-profile.json": {"wall": 47_119_212_000},
	"cpi-callpath-profile.json":      {"wall": 2_299_906_000, "count": 460},
	"caliper-region-node-order.json": {"wall": 1_257_162_000},
}

func TestFiles(t *testing.T) {
	for name, want := range totals {
		content := readtest.File(t, name)
		if !Sniff(content) {
			t.Errorf("%s is not recognised", name)
		}
		p, err := decode(content)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for i := range p.Tables {
			table := &p.Tables[i]
			for row, stack := range table.Stack {
				if stack != profile.NoStack { // outside of all regions
					got[table.Type.Name] += table.Value[row]
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || p.Tables[p.Default].Type.Name != "wall" {
			t.Errorf("%s: %s", name, diff)
		}
		readtest.Damage(t, content, 1000, decode)
	}
}

const sections = `{"data": [[7, 1, 2.5, null, 3], [9, 0, 0.5, 2, null]], "columns": ["inclusive#sum#time.duration", "mpi.rank", "sum#time.duration", "path", "loop"],
"column_metadata": [{"is_value": true}, {"is_value": true}, {"is_value": true, "attribute.unit": "sec"}, {"is_value": false}, {"is_value": false}],
"nodes": [{"label": "main", "column": "path"}, {"label": "x", "column": "loop", "parent": 0}, {"label": "", "column": "path", "parent": 1}, {"label": "y", "column": "loop"}], "cmdline": "app -n 3"}`

// hatchet has the fields that Hatchet writes, and a name behind the children.
const hatchet = `[{"name": "main", "frame": {"name": "main", "type": "function"}, "metrics": {"count": 2.0, "time": 0.5, "time (inc)": 30.0, "_hatchet_nid": 0}, "attributes": {},
"children": [{"frame": {"type": "function", "name": "io"}, "metrics": {"time": 18.25}}, {"children": [{"name": "w", "metrics": {"time": 1}}], "metrics": {"count": 1}, "name": "late"}]}]`

func TestForms(t *testing.T) {
	for text, want := range map[string]string{
		sections: "== wall nanoseconds scale 0 default\n2500000000 [rank 1 tid=1] -\n500000000 [rank 0 tid=0] main > [unknown]\n",
		hatchet:  "== count count scale 0\n2 main\n1 main > late\n== time count scale 2 default\n50 main\n1825 main > io\n100 main > late > w\n",
	} {
		p, err := decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, readtest.Describe(p)); diff != "" {
			t.Error(diff)
		}
		if text == sections && !cmp.Equal(p.LabelSets[1:], [][]profile.Label{{{Key: "loop", Text: "y"}}}) {
			t.Errorf("labels %v", p.LabelSets)
		}
		if !Sniff([]byte(text)) {
			t.Errorf("not recognised: %.60s", text)
		}
	}
	for _, text := range []string{`{"data": {"columns": []}, "columns": 1}`, `[{"name": "x"}]`, `{"traceEvents": []}`,
		`{"nodes": [], "samples": []}`} {
		if Sniff([]byte(text)) {
			t.Errorf("recognised: %s", text)
		}
	}
}

// TestUnknown reads nodes that are not listed.
func TestUnknown(t *testing.T) {
	for from, want := range map[string]string{
		"0.5, 2,":      "500000000 [rank 0 tid=0] [unknown]\n",
		`"parent": 1}`: "500000000 [rank 0 tid=0] [unknown]\n", // whose label is empty
	} {
		to := map[string]string{"0.5, 2,": "0.5, 9,", `"parent": 1}`: `"parent": 9}`}[from]
		p, err := decode([]byte(strings.Replace(sections, from, to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		want += "warning: 1 references to nodes that are not in the list of 4 nodes; they count as [unknown]\n"
		if got := readtest.Describe(p); !strings.HasSuffix(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", to, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	deep := strings.Repeat(`{"metrics": {"time": 1}, "children": [`, 60) + strings.Repeat("]}", 60)
	for text, c := range map[string]struct {
		is   error
		says string
	}{
		`{"data": [[1]], "columns": ["count"], "column_metadata": [{"is_value": true}], "nodes": []}`:                                          {profile.ErrMalformed, "no column of regions"},
		strings.Replace(sections, "[7, 1,", "[7,", 1):                                                                                          {profile.ErrMalformed, "a row of 4 values of 5 columns"},
		strings.Replace(sections, `"parent": 1}`, `"parent": 2}`, 1):                                                                           {profile.ErrMalformed, "comes later"},
		strings.Replace(sections, "2.5,", "1e300,", 1):                                                                                         {profile.ErrMalformed, "63 bits"},
		`{"data": [[1, null]], "columns": ["inclusive#x", "path"], "column_metadata": [{"is_value": true}, {"is_value": false}], "nodes": []}`: {profile.ErrMalformed, "no column is the sum"},
		"[" + deep + "]": {profile.ErrTooLarge, "--max-depth"},
		hatchet[:100]:    {profile.ErrMalformed, ""},
	} {
		_, err := decode([]byte(text))
		readtest.Refused(t, text, err, c.is, c.says)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(sections))
	f.Add([]byte(hatchet))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := decode(content)
		readtest.Sound(t, len(content), p, err)
	})
}
