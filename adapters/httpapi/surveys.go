package httpapi

import (
	"errors"
	"io"
	"net/http"

	"github.com/bunting-flags/bunting/flags"
)

const (
	// maxSurveyForm bounds the form of a survey request, in bytes.
	maxSurveyForm = 64 << 10
	// maxConfigToken is the longest token of the public configuration routes
	// (§16.1), in bytes.
	maxConfigToken = 200
)

var (
	// Neither is kept here: the answers are those of a project without any.
	noSurveys     = []byte(`{"surveys":[],"survey_config":null}`)
	noEarlyAccess = []byte(`{"earlyAccessFeatures":[]}`)
)

// surveys answers what posthog-js asks for when it starts (§16.3). A key that is
// not known gets the same empty answer as one that is.
func surveys(s *server, w http.ResponseWriter, r *http.Request) error {
	q := parseCaptureQuery(r.URL.RawQuery)
	token := q.token
	if token == "" && r.Method == http.MethodPost && isForm(r.Header.Get("Content-Type")) {
		form, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSurveyForm))
		if err != nil {
			return readProblem(err)
		}
		q := parseCaptureQuery(string(form))
		token = q.token
	}
	switch {
	case token == "":
		return problemNoKey.with("", "token")
	case !isConfigToken(token):
		return problemKeyForm.with("", "token")
	}
	s.write(w, http.StatusOK, noSurveys)
	return nil
}

// isConfigToken reports whether a token is of letters, digits, - and _ (§16.1).
func isConfigToken(token string) bool {
	if len(token) > maxConfigToken {
		return false
	}
	for _, c := range []byte(token) {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// getEarlyAccess lists the early access features of a project (§16.3).
func getEarlyAccess(s *server, w http.ResponseWriter, r *http.Request) error {
	q := parseCaptureQuery(r.URL.RawQuery)
	if q.token == "" {
		return problemNoKey.with("", "token")
	}
	_, _, err := s.Decider.Project(r.Context(), q.token)
	switch {
	case errors.Is(err, flags.ErrUnknownKey):
		return problemBadKey.with("", "token")
	case err != nil:
		return err
	}
	s.write(w, http.StatusOK, noEarlyAccess)
	return nil
}
