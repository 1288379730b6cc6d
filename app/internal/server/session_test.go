package server

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// asked returns the answer of GET /api/v1/session.
func asked(t *testing.T, h http.Handler, headers ...string) (a sessionAnswer) {
	t.Helper()
	w, _ := answered(t, h, request("GET", "/api/v1/session", nil, headers...))
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || !a.Token || (a.Limits == nil) != (a.May == "nothing") ||
		(a.Version == "") != (a.May == "nothing") {
		t.Errorf("%v: %v %s", headers, err, w.Body)
	}
	return a
}

// loggedIn returns the status of a login and the session.
func loggedIn(t *testing.T, h http.Handler, body string) (int, string) {
	t.Helper()
	w, _ := answered(t, h, request("POST", "/api/v1/session", strings.NewReader(body)))
	if cookie := w.Header().Get("Set-Cookie"); cookie != "" {
		t.Errorf("a cookie, which browsers send to every port: %s", cookie)
	}
	var a sessionAnswer
	_ = json.Unmarshal(w.Body.Bytes(), &a)
	return w.Code, a.Session
}

// TestSession: a token is exchanged for a session that says nothing about it, and that ends
// at logout.
func TestSession(t *testing.T) {
	h, _ := handlerOf(t, Options{HTTPToken: fullToken, ReadToken: readToken, Version: "1"})
	if got := asked(t, h); got.May != "nothing" || got.LoggedIn {
		t.Errorf("without a token: %+v", got)
	}
	for _, x := range []struct {
		token, may string
		change     int
	}{{fullToken, "change", 200}, {readToken, "read", 403}} {
		code, id := loggedIn(t, h, `{"token":"`+x.token+`"}`)
		if code != 200 || len(id) < 50 || strings.Contains(id, x.token) {
			t.Fatalf("%s: %d %s", x.token, code, id)
		}
		bearer := "Authorization: Bearer " + id
		if got := asked(t, h, bearer); got.May != x.may || !got.LoggedIn || got.Session != "" {
			t.Errorf("with the session of %s: %+v", x.token, got)
		}
		if got := asked(t, h, "Authorization: Bearer "+x.token); got.May != x.may || got.LoggedIn {
			t.Errorf("with %s: %+v", x.token, got)
		}
		if w, _ := answered(t, h, request("POST", "/change", nil, bearer)); w.Code != x.change {
			t.Errorf("a change with the session of %s: %d", x.token, w.Code)
		}
		if w, _ := answered(t, h, request("GET", "/read", nil, "Cookie: dendro-12800="+id)); w.Code != 401 {
			t.Errorf("as a cookie: %d", w.Code)
		}
		if _, again := loggedIn(t, h, `{"token":"`+x.token+`"}`); again == id {
			t.Error("two sessions with one id")
		}
		if code, more := loggedIn(t, h, `{"token":"`+id+`"}`); code != 401 || more != "" {
			t.Errorf("a login with a session: %d %s", code, more)
		}
		if w, _ := answered(t, h, request("POST", "/api/v1/session", nil, bearer)); w.Code != 401 {
			t.Errorf("a login with a session as a bearer token: %d", w.Code)
		}
		if w, _ := answered(t, h, request("DELETE", "/api/v1/session", nil, bearer)); w.Code != 204 {
			t.Errorf("logout: %d", w.Code)
		}
		if w, problem := answered(t, h, request("GET", "/read", nil, bearer)); w.Code != 401 || problem != "unauthorized" {
			t.Errorf("after logout: %d %s", w.Code, problem)
		}
	}
	if code, id := loggedIn(t, h, `{"token":"wrong"}`); code != 401 || id != "" {
		t.Errorf("a wrong token: %d %s", code, id)
	}
	if code, _ := loggedIn(t, h, `{`); code != 400 {
		t.Errorf("half a body: %d", code)
	}
}

// TestSessionsEnd: sessions have an end and a maximum number.
func TestSessionsEnd(t *testing.T) {
	s, now := newSessions(), time.Now()
	first, ends := s.begin(Reading, now)
	changing, _ := s.begin(All, now)
	if s.granted(first, ends.Add(-time.Second)) != Reading || s.granted(first, ends) != Nothing {
		t.Error("a session does not end")
	}
	for i := range maxSessions {
		s.begin(Reading, now.Add(time.Duration(i+1)*time.Second))
	}
	if len(s.list) != maxSessions+1 || s.granted(first, now) != Nothing || s.granted(changing, now) != All {
		t.Errorf("%d sessions; the oldest is %v, that of another token %v", len(s.list), s.granted(first, now), s.granted(changing, now))
	}
	if _, ends = s.begin(Reading, now.Add(2*sessionLength)); len(s.list) != 1 {
		t.Errorf("%d sessions after all have ended at %s", len(s.list), ends)
	}
}

// TestShortTokens: tokens that can be guessed are refused.
func TestShortTokens(t *testing.T) {
	for flag, o := range map[string]Options{"--http-token": {HTTPToken: "s3cret"}, "--read-token": {ReadToken: "123456789012345"},
		"--agent-token": {HTTPToken: fullToken, AgentToken: "a"}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), flag) || !strings.Contains(err.Error(), "at least 16") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// TestGuessing: an address that guesses must wait; others, and clients of the address that
// have used a right token before, are served.
func TestGuessing(t *testing.T) {
	h, _ := handlerOf(t, Options{HTTPToken: fullToken, ReadToken: readToken})
	from := func(address, token string) (int, string) {
		r := request("GET", "/read", nil, "Authorization: Bearer "+token)
		r.RemoteAddr = address
		w, _ := answered(t, h, r)
		return w.Code, w.Header().Get("Retry-After")
	}
	if code, _ := from("198.51.100.1:1", readToken); code != 200 {
		t.Fatal(code)
	}
	_, id := loggedIn(t, h, `{"token":"`+fullToken+`"}`)
	refused := 0
	for i := range 100 {
		code, after := from("198.51.100.1:"+strconv.Itoa(1000+i), "guess-0123456789-"+strconv.Itoa(i))
		if seconds, err := strconv.Atoi(after); code == 429 && err == nil && seconds > 1 {
			refused++
		} else if code != 401 {
			t.Fatalf("guess %d: %d, Retry-After %q", i, code, after)
		}
	}
	if refused != 100-freeGuesses {
		t.Errorf("%d guesses were judged", 100-refused)
	}
	for _, x := range []struct {
		name, address, token string
		want                 int
	}{
		{"the right token among guesses", "198.51.100.1:2", fullToken, 429},
		{"a token that was right before", "198.51.100.1:2", readToken, 200},
		{"a session", "198.51.100.1:2", id, 200},
		{"another address", "198.51.100.2:2", fullToken, 200},
	} {
		if code, _ := from(x.address, x.token); code != x.want {
			t.Errorf("%s: %d, want %d", x.name, code, x.want)
		}
	}
	// One client has a whole network of IPv6.
	for i := range 2 * freeGuesses {
		from("[2001:db8::"+strconv.Itoa(i+1)+"]:1", "guess-0123456789")
	}
	if code, _ := from("[2001:db8::ffff]:1", "guess-0123456789"); code != 429 {
		t.Errorf("another address of the network: %d", code)
	}
}

// TestGuessersAreBounded: guessing from many addresses takes no memory without bound.
func TestGuessersAreBounded(t *testing.T) {
	g, now := newGuesses(), time.Now()
	for i := range 3 * maxGuessers {
		g.judge(strconv.Itoa(i), "guess", false, now)
	}
	if len(g.clients) > maxGuessers {
		t.Errorf("%d clients", len(g.clients))
	}
	wait := time.Duration(0)
	for range freeGuesses + 1 {
		wait = g.judge("slow", "guess", false, now)
	}
	if wait <= 0 || g.judge("slow", "guess", false, now.Add(2*guessPause)) != 0 {
		t.Errorf("wait %s; guesses do not grow back", wait)
	}
}

func TestPages(t *testing.T) {
	h, _ := handlerOf(t, Options{HTTPToken: fullToken, Pages: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/none" {
			return false
		}
		io.WriteString(w, "page")
		return true
	}})
	for _, x := range []struct {
		method, target string
		code           int
	}{{"GET", "/", 200}, {"GET", "/none", 404}, {"GET", "/change", 405}, {"GET", "/read", 401}, {"GET", "/healthz", 200}} {
		if w, _ := answered(t, h, request(x.method, x.target, nil)); w.Code != x.code {
			t.Errorf("%s %s: %d", x.method, x.target, w.Code)
		}
	}
}
