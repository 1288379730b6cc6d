package server

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"time"
)

// sessionRoutes are for web pages: they tell what the browser may do and set a cookie with
// the token. The cookie ends with the browser session, scripts cannot read it, and other
// sites cannot send it.
func (s *Server) sessionRoutes() []Route {
	const path = "/api/v1/session"
	return []Route{
		{Pattern: "GET " + path, Handler: http.HandlerFunc(s.session), Needs: Nothing},
		{Pattern: "POST " + path, Handler: http.HandlerFunc(s.login), Needs: Nothing},
		{Pattern: "DELETE " + path, Handler: http.HandlerFunc(s.logout), Needs: Nothing},
	}
}

// sessionAnswer tells what a client may do.
type sessionAnswer struct {
	May      string `json:"may"`      // nothing, read or change
	Token    bool   `json:"token"`    // the server has tokens
	LoggedIn bool   `json:"loggedIn"` // by cookie

	Version string         `json:"version,omitempty"`
	Limits  *sessionLimits `json:"limits,omitempty"`
}

// sessionLimits are sizes of requests in bytes.
type sessionLimits struct {
	Body   int64 `json:"body"`
	Upload int64 `json:"upload"`
}

func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	_, err := r.Cookie(cookieName(r))
	s.answerSession(w, r, err == nil)
}

func (s *Server) answerSession(w http.ResponseWriter, r *http.Request, loggedIn bool) {
	a := sessionAnswer{May: "nothing", Token: !s.opts.openHTTP(), LoggedIn: loggedIn}
	switch {
	case s.opts.authorize(r, All) == nil:
		a.May = "change"
	case s.opts.authorize(r, Reading) == nil:
		a.May = "read"
	}
	if a.May != "nothing" {
		a.Version, a.Limits = s.opts.Version, &sessionLimits{s.opts.Limits.Body, s.opts.Limits.Upload}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // the client may have disconnected
}

// login exchanges a token, sent as a bearer token or as JSON {"token": "…"}, for a cookie.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	token := tokenOf(r)
	if r.Header.Get("Authorization") == "" {
		var body struct {
			Token string `json:"token"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&body); err != nil {
			WriteProblem(w, r, &Problem{Type: TypeBadRequest, Title: "The body is invalid", Status: http.StatusBadRequest, Detail: `send {"token": "…"}`})
			return
		}
		token = body.Token
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if p := s.opts.authorize(r, Reading); p != nil {
		s.metrics.refused.WithLabelValues("token").Inc()
		WriteProblem(w, r, p)
		return
	}
	s.setCookie(w, r, base64.RawURLEncoding.EncodeToString([]byte(token)), 0)
	s.answerSession(w, r, true)
}

// logout removes the cookie.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.setCookie(w, r, "", -1)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	c := &http.Cookie{Name: cookieName(r), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode}
	if age < 0 {
		c.Expires = time.Unix(1, 0)
	}
	http.SetCookie(w, c)
}

// cookieName has the port: browsers send the cookies of a host to all its ports.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "dendro-" + port
	}
	return "dendro"
}

// cookieToken returns the token in the cookie of a request; empty without one.
func cookieToken(r *http.Request) string {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return ""
	}
	token, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return ""
	}
	return string(token)
}
