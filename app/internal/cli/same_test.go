package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/app/internal/gitlog"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
)

// sameVariable names the environment variable with the server that every query of a
// script is compared with.
const sameVariable = "DENDRO_TEST_SAME"

// sameLogVariable names the environment variable with the file that gets a line for
// every comparison.
const sameLogVariable = "DENDRO_TEST_SAME_LOG"

// surface is a query as both surfaces have it.
type surface struct {
	path    string
	request any
	facts   bool // the client's facts travel with it
}

func surfaceOf(args []string) (surface, bool) {
	if len(args) == 0 {
		return surface{}, false
	}
	s, ok := map[string]surface{
		"overview": {"/overview", &query.OverviewRequest{}, false}, "history": {"/history", &query.HistoryRequest{}, false},
		"runs": {"/runs", &query.RunsRequest{}, false}, "top": {"/functions", &query.TopRequest{}, false}, "tree": {"/tree", &query.TreeRequest{}, false},
		"diff": {"/diff", &query.DiffRequest{}, false}, "list": {"/lines", &query.LinesRequest{}, false}, "find": {"/find", &query.FindRequest{}, false}, "bottlenecks": {"/bottlenecks", &query.BottlenecksRequest{}, false},
		"regressions": {"/regressions", &query.RegressionsRequest{}, true}, "report": {"/report", &query.ReportRequest{}, true}, "check": {"/check", &query.CheckRequest{}, true},
	}[args[0]]
	if ok && slices.Contains(args, "--profiles") {
		s.path = "/profiles"
	}
	return s, ok
}

// clientFlags are the flags of queries that only the command line has, and whether they
// take a value. A query with another one, or with files, is not compared.
var clientFlags = map[string]bool{"profiles": false, "all": false, "full": false, "output": true, "o": true, "store": true, "write": true, "comment": true, "acknowledged": true}

// sameAsServer runs a query with -o json and compares it with what the server answers
// to the same request. It returns nil for what is not a query of a store.
func sameAsServer(server string, args []string) error {
	s, ok := surfaceOf(args)
	if !ok {
		return nil
	}
	values := url.Values{}
	asked := []string{args[0]}
	list := param.Of(s.request)
	for i := 1; i < len(args); i++ {
		name, value, inline := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		p := slices.IndexFunc(list, func(p *param.Parameter) bool { return p.Name == name })
		takes, client := clientFlags[name]
		switch {
		case !strings.HasPrefix(args[i], "-") && args[0] == "find":
			values.Add("pattern", args[i])
			asked = append(asked, args[i])
		case i == 1 && args[0] == "list":
			values.Add("function", args[i])
			asked = append(asked, args[i])
		case !strings.HasPrefix(args[i], "-"):
			return nil // a file
		case p >= 0 && list[p].IsBool():
			values.Add(name, "true")
			asked = append(asked, args[i])
		case p >= 0:
			if !inline {
				i++
				value = args[i]
			}
			if _, err := os.Stat(value); err == nil && (name == "base" || name == "head") {
				return nil // files
			}
			values.Add(name, value)
			asked = append(asked, "--"+name+"="+value)
		case client && name == "acknowledged":
			return nil
		case client:
			if takes && !inline {
				i++
			}
			if name == "profiles" {
				asked = append(asked, "--profiles")
			}
		default:
			return nil
		}
	}
	if s.facts {
		if _, err := gitlog.Root("."); err == nil { // its facts are not in the request
			return nil
		}
	}
	var out, errOut bytes.Buffer
	status := Main(append(asked, "-o", "json"), strings.NewReader(""), &out, &errOut)
	method, body := "GET", io.Reader(nil)
	if list, err := query.ReadAcknowledgements(acknowledgedFile); s.facts && err != nil {
		return nil // the command could not ask
	} else if s.facts && len(list) > 0 {
		text, err := os.ReadFile(acknowledgedFile)
		if err != nil {
			return err
		}
		method, body = "POST", strings.NewReader(`{"facts":{"acknowledged":`+string(text)+`}}`)
	}
	request, err := http.NewRequest(method, server+"/api/v1"+s.path+"?"+values.Encode(), body)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(os.Getenv(sameLogVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	fmt.Fprintln(log, asked[0], answer.StatusCode)
	if err := log.Close(); err != nil {
		return err
	}
	if failed := status != exitFine && status != exitFound; failed || answer.StatusCode != http.StatusOK {
		if !failed || answer.StatusCode == http.StatusOK || !json.Valid(text) {
			return fmt.Errorf("%q ends with status %d, the server answers %d %s: %s", asked, status, answer.StatusCode, text, &errOut)
		}
		return nil
	}
	if !bytes.Equal(out.Bytes(), text) {
		return fmt.Errorf("%q prints\n%s\nthe server answers to %s\n%s", asked, &out, request.URL, text)
	}
	return nil
}
