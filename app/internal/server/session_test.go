package server

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestSession(t *testing.T) {
	o := Options{HTTPToken: "full", ReadToken: "read", Version: "1"}
	h, _ := handlerOf(t, o)
	may := func(headers ...string) string {
		w, _ := answered(t, h, request("GET", "/api/v1/session", nil, headers...))
		var a sessionAnswer
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || !a.Token || (a.Limits == nil) != (a.May == "nothing") || (a.Version == "") != (a.May == "nothing") {
			t.Errorf("%v: %v %s", headers, err, w.Body)
		}
		return a.May
	}
	login := func(body string, headers ...string) (int, string) {
		w, _ := answered(t, h, request("POST", "/api/v1/session", strings.NewReader(body), headers...))
		cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
		if all := w.Header().Get("Set-Cookie"); cookie != "" && (!strings.Contains(all, "; HttpOnly") || !strings.Contains(all, "; SameSite=Strict")) {
			t.Errorf("cookie %s", all)
		}
		return w.Code, cookie
	}
	if got := may(); got != "nothing" {
		t.Errorf("without a token: %s", got)
	}
	for _, x := range []struct{ token, may string }{{"full", "change"}, {"read", "read"}} {
		code, cookie := login(`{"token":"` + x.token + `"}`)
		if code != 200 || may("Cookie: "+cookie) != x.may || may("Authorization: Bearer "+x.token) != x.may {
			t.Errorf("%s: %d %s", x.token, code, cookie)
		}
		w, _ := answered(t, h, request("POST", "/change", nil, "Cookie: "+cookie))
		if want := map[string]int{"full": 200, "read": 403}[x.token]; w.Code != want {
			t.Errorf("a change with the cookie of %s: %d", x.token, w.Code)
		}
		// The cookie is no use to another site, nor on another port of this host.
		if w, _ := answered(t, h, request("GET", "/read", nil, "Cookie: "+cookie, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors")); w.Code != 403 {
			t.Errorf("a page of another site: %d", w.Code)
		}
		if w, _ := answered(t, h, request("GET", "/read", nil, "Cookie: "+cookie, "Host: localhost:1")); w.Code != 401 {
			t.Errorf("another port: %d", w.Code)
		}
	}
	if code, cookie := login(`{"token":"wrong"}`); code != 401 || cookie != "" {
		t.Errorf("a wrong token: %d %s", code, cookie)
	}
	if code, _ := login(`{`); code != 400 {
		t.Errorf("half a body: %d", code)
	}
	w, _ := answered(t, h, request("DELETE", "/api/v1/session", nil))
	if w.Code != 204 || !strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("logout: %d %s", w.Code, w.Header().Get("Set-Cookie"))
	}
}

func TestPages(t *testing.T) {
	h, _ := handlerOf(t, Options{HTTPToken: "full", Pages: func(w http.ResponseWriter, r *http.Request) bool {
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
