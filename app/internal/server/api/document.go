package api

import (
	"encoding/json"
	"net/http"
)

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n')) // the client may have disconnected; the log has that
	return nil
}
