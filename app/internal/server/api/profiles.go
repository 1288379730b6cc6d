package api

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/store"
)

func (a *api) one(r *http.Request) (*store.Profile, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	list, err := a.Store.Profiles(r.Context(), store.Query{Profiles: []store.ProfileID{id}})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, gone(id)
	}
	return &list[0], nil
}

// profile describes one profile.
func (a *api) profile(w http.ResponseWriter, r *http.Request) error {
	p, err := a.one(r)
	if err == nil {
		server.WriteJSON(w, http.StatusOK, p)
	}
	return err
}

// source answers with the original file of a profile.
func (a *api) source(w http.ResponseWriter, r *http.Request) error {
	p, err := a.one(r)
	if err != nil {
		return err
	}
	data, err := a.Store.Source(r.Context(), p.ID)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment; filename="+strconv.QuoteToASCII(string(p.ID)))
	h.Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data)
	return nil
}

// deleteProfile removes one profile.
func (a *api) deleteProfile(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	n, err := a.Store.Delete(r.Context(), []store.ProfileID{id})
	if err != nil {
		return err
	}
	if n == 0 {
		return gone(id)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// pathID returns the id in the address.
func pathID(r *http.Request) (id store.ProfileID, err error) {
	if err = id.UnmarshalText([]byte(r.PathValue("id"))); err == nil && id.IsShort() {
		err = fmt.Errorf("%q is only the beginning of a profile id, which has 16 digits", id)
	}
	if err != nil {
		return "", mistake(err)
	}
	return id, nil
}
