package httpapi

import (
	"context"
	"encoding/json"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/results"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/management"
)

// RunQuery runs the query of an alert, waits for the result and returns its rows. It may return the
// errors that are documented at dashboards.Config.Ask.
func (h *Handler) RunQuery(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
	found, err := results.RunAndWait(ctx, h.ready(), p, query, queries.Blocking, "alert")
	rows, _ := found["results"].(json.RawMessage)
	return rows, err
}

// Measure runs a query of a guarded rollout or an experiment and returns its evidence. See
// rollouts.Config.Measure and experiments.New.
func (h *Handler) Measure(ctx context.Context, p *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
	found, err := results.RunAndWait(ctx, h.ready(), p, query, queries.ForceBlocking, "measure")
	raw, _ := found["evidence"].(json.RawMessage)
	return raw, err
}

// ready returns the server of h, or nil.
func (h *Handler) ready() *frame.Server {
	if h.isReady() {
		return h.server
	}
	return nil
}

// DefinitionsChanged sends a change of a project's definitions to its streams at once instead of
// within two seconds. Call it after the Decider's Renew. 0 means all projects. It may be called
// concurrently.
func (h *Handler) DefinitionsChanged(projectID int64) {
	if !h.isReady() {
		return
	}
	h.streams.Changed(projectID)
}

// CloseStreams ends all streams with a closing event and waits until they have ended, which takes
// up to ten seconds if clients are slow. Further streams are refused. http.Server.Shutdown does
// not end streams, so register CloseStreams with http.Server.RegisterOnShutdown.
func (h *Handler) CloseStreams() {
	if !h.isReady() {
		return
	}
	h.streams.Close()
}
