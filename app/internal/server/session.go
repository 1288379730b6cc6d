package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Sessions of web pages. A page exchanges the token for a random id, which it keeps where
// only pages of this address and port can read it, and sends as a bearer token. It is not a
// cookie: browsers send the cookies of a host to all its ports, so to other programs of a
// machine. The server forgets the id at logout, at its end, and when it stops.
const (
	sessionPrefix = "dendro-session-"
	sessionLength = 12 * time.Hour
	maxSessions   = 1000 // of each token; its oldest ends
)

// sessions are the sessions in use.
type sessions struct {
	mu   sync.Mutex
	list map[[sha256.Size]byte]session // by the hash of the id, so that look-ups reveal nothing
}

type session struct {
	may  Needs
	ends time.Time
}

func newSessions() *sessions { return &sessions{list: map[[sha256.Size]byte]session{}} }

// isSession reports whether a credential is the id of a session, not a token.
func isSession(credential string) bool { return strings.HasPrefix(credential, sessionPrefix) }

// begin returns the id of a new session.
func (s *sessions) begin(may Needs, now time.Time) (id string, ends time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest [sha256.Size]byte
	same := 0
	for key, v := range s.list {
		if !v.ends.After(now) {
			delete(s.list, key)
		} else if v.may == may {
			if same++; same == 1 || v.ends.Before(s.list[oldest].ends) {
				oldest = key
			}
		}
	}
	if same >= maxSessions { // who reads ends no session of who may change
		delete(s.list, oldest)
	}
	id, ends = sessionPrefix+rand.Text()+rand.Text(), now.Add(sessionLength)
	s.list[sha256.Sum256([]byte(id))] = session{may, ends}
	return id, ends
}

// granted returns what a session allows; Nothing if it has ended.
func (s *sessions) granted(id string, now time.Time) Needs {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.list[sha256.Sum256([]byte(id))]
	if !ok || !v.ends.After(now) {
		return Nothing
	}
	return v.may
}

// end ends a session.
func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.list, sha256.Sum256([]byte(id)))
}

// sessionRoutes are for web pages: they tell what the browser may do, log in and log out.
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
	LoggedIn bool   `json:"loggedIn"` // by a session

	Session string     `json:"session,omitempty"` // the id, at login
	Ends    *time.Time `json:"ends,omitempty"`

	Version string         `json:"version,omitempty"`
	Limits  *sessionLimits `json:"limits,omitempty"`
}

// sessionLimits are sizes of requests in bytes.
type sessionLimits struct {
	Body   int64 `json:"body"`
	Upload int64 `json:"upload"`
}

func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	may, _ := s.granted(r, false)
	s.answerSession(w, may, &sessionAnswer{LoggedIn: may != Nothing && isSession(credentialOf(r))})
}

func (s *Server) answerSession(w http.ResponseWriter, may Needs, a *sessionAnswer) {
	a.Token, a.May = !s.opts.openHTTP(), map[Needs]string{All: "change", Reading: "read", Nothing: "nothing"}[may]
	if may != Nothing {
		a.Version, a.Limits = s.opts.Version, &sessionLimits{s.opts.Limits.Body, s.opts.Limits.Upload}
	}
	WriteJSON(w, http.StatusOK, a)
}

// login exchanges a token, sent as a bearer token or as JSON {"token": "…"}, for a session. The
// id of a session is no token: a stolen one would go on in others, after logout and for ever.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") == "" {
		var body struct {
			Token string `json:"token"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&body); err != nil {
			WriteProblem(w, r, &Problem{Type: TypeBadRequest, Title: "The body is invalid", Status: http.StatusBadRequest,
				Detail: `send {"token": "…"}`})
			return
		}
		r.Header.Set("Authorization", "Bearer "+body.Token)
	}
	may, refused := s.granted(r, false)
	if isSession(credentialOf(r)) {
		may, refused = Nothing, &Problem{Type: TypeUnauthorized, Title: "A session is no token", Status: http.StatusUnauthorized,
			Detail: "log in with a token"}
	}
	if p := authorize(may, refused, Reading); p != nil {
		s.metrics.refused.WithLabelValues("token").Inc()
		WriteProblem(w, r, p)
		return
	}
	id, ends := s.sessions.begin(may, time.Now())
	s.answerSession(w, may, &sessionAnswer{LoggedIn: true, Session: id, Ends: &ends})
}

// logout ends the session of the request.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if id := credentialOf(r); isSession(id) {
		s.sessions.end(id)
	}
	w.WriteHeader(http.StatusNoContent)
}
