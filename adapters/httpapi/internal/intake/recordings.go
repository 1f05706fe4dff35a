package intake

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture"
)

// recordingsLimited makes posthog-js pause recordings for a minute (§4.1).
var recordingsLimited = []byte(`{"status":1,"quota_limited":["recordings"]}`)

// postRecording accepts session recordings, as SDKs require, but does not store them (§7).
func (s *Service) postRecording(w http.ResponseWriter, r *http.Request, l *admission.Lease) error {
	q := parseCaptureQuery(r.URL.RawQuery)
	text, err := s.readCapture(r, &q, l, maxRecording)
	if err != nil {
		return err
	}
	token, items, err := capture.DecodeRecording(text)
	if err != nil {
		return err
	}
	limited, err := s.Intake.AcceptRecording(r.Context(), token, items)
	switch {
	case err != nil:
		return err
	case limited:
		frame.Write(w, http.StatusOK, recordingsLimited)
	case q.beacon:
		w.WriteHeader(http.StatusNoContent)
	default:
		frame.Write(w, http.StatusOK, frame.Accepted)
	}
	return nil
}
