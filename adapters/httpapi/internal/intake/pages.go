package intake

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management/earlyaccess"
)

const (
	// maxSurveyForm is the maximum size of the form of a survey request, in bytes.
	maxSurveyForm = 64 << 10
)

var (
	// The responses without Management.
	noSurveys     = []byte(`{"surveys":[],"survey_config":null}`)
	noEarlyAccess = []byte(`{"earlyAccessFeatures":[]}`)
)

// surveys serves the surveys that posthog-js requests when it starts (§16.3). The response to an
// unknown key is the same as for a project without surveys.
func (s *Service) surveys(w http.ResponseWriter, r *http.Request) error {
	q := parseCaptureQuery(r.URL.RawQuery)
	token := q.token
	if token == "" && r.Method == http.MethodPost && isForm(r.Header.Get("Content-Type")) {
		form, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSurveyForm))
		if err != nil {
			return admission.ReadProblem(err)
		}
		q := parseCaptureQuery(string(form))
		token = q.token
	}
	switch {
	case token == "":
		return problemNoKey.With("", "token")
	case !frame.IsConfigToken(token):
		return problemKeyForm.With("", "token")
	}
	if s.Management == nil || s.Management.Surveys == nil {
		frame.Write(w, http.StatusOK, noSurveys)
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), frame.ReadTimeout)
	defer cancel()
	list, err := s.Management.Surveys.Public(ctx, token)
	return writePublic(w, list, err)
}

// writePublic responds with a list that management has returned.
func writePublic(w http.ResponseWriter, list any, err error) error {
	if err != nil {
		return problem.OfManagement(err)
	}
	return frame.WriteJSON(w, http.StatusOK, list)
}

// getEarlyAccess lists the early access features of a project (§16.3).
func (s *Service) getEarlyAccess(w http.ResponseWriter, r *http.Request) error {
	q := parseCaptureQuery(r.URL.RawQuery)
	if q.token == "" {
		return problemNoKey.With("", "token")
	}
	project, _, err := s.Decider.Project(r.Context(), q.token)
	switch {
	case errors.Is(err, flags.ErrUnknownKey):
		return problemBadKey.With("", "token")
	case err != nil:
		return err
	case s.Management == nil || s.Management.EarlyAccess == nil:
		frame.Write(w, http.StatusOK, noEarlyAccess)
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), frame.ReadTimeout)
	defer cancel()
	list, err := s.Management.EarlyAccess.Public(ctx, project.ID, r.URL.Query()["stage"])
	return writePublic(w, struct {
		Features []earlyaccess.PublicFeature `json:"earlyAccessFeatures"`
	}{list}, err)
}
