package intake

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/unpack"
	"github.com/bunting-flags/bunting/capture"
)

// Limits of protocol v1, in bytes (§4.6).
const (
	maxV1 = 10 << 20 // before unpacking
)

// postV1 handles a request of protocol v1 (§6).
func (s *Service) postV1(w http.ResponseWriter, r *http.Request, l *admission.Lease) error {
	if err := s.ingestV1(w, r, l); err != nil {
		return problemV1(captureProblem(err))
	}
	return nil
}

// ingestV1 validates the headers and the project key, then reads and decodes the body, and stores the
// events. For a long body, or one of unknown length, the key is checked before the body is read, so
// that a wrong key does not occupy memory.
func (s *Service) ingestV1(w http.ResponseWriter, r *http.Request, l *admission.Lease) error {
	from := s.origin(r)
	q, err := checkV1(r)
	if err != nil {
		admission.Drain(w, r, r.Header.Get("Expect") == "")
		return err
	}
	if r.ContentLength < 0 || r.ContentLength > admission.FirstChunk {
		if err := s.Intake.CheckKey(r.Context(), q.token); err != nil {
			admission.Drain(w, r, r.Header.Get("Expect") == "")
			return err
		}
	}
	raw, err := l.ReadRaw(maxV1)
	if err != nil {
		return err
	}
	text, err := q.unpack(l, raw, unpack.MaxV1Unpacked)
	if err != nil {
		return err
	}
	submission, err := capture.DecodeV1(unpack.AsText(text), q.headers, l.Acquire)
	if err != nil {
		return err
	}
	submission.Tokens = []string{q.token}
	if err := acquireForStoring(l, len(text), len(submission.Items)); err != nil {
		return err
	}
	receipt, err := s.Intake.Accept(r.Context(), submission, from)
	switch {
	case err != nil:
		return err
	case isAllOverQuota(&receipt):
		return &problemBilling
	}
	s.recordUsage(r, q.token, &receipt)
	frame.Write(w, http.StatusOK, resultsV1(submission, &receipt))
	return nil
}

// requestV1 contains the headers of a request.
type requestV1 struct {
	token   string
	headers capture.V1Headers
	unpack  unpack.Decoder
}

// checkV1 validates the headers, before the body is read (§6.1).
func checkV1(r *http.Request) (q requestV1, err error) {
	token := frame.Bearer(r)
	if token == "" {
		return q, &problemNoBearer
	}
	if q.token, err = capture.CheckToken(token); err != nil {
		return q, err
	}
	base, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(base), "application/json") {
		return q, &problemContentType
	}
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header["Content-Encoding"], ",")))
	if q.unpack = unpack.ByEncoding[encoding]; q.unpack == nil {
		return q, problemEncoding.With(problem.Shorten(encoding), "")
	}
	q.headers = capture.V1Headers{
		SdkInfo: r.Header.Get("PostHog-Sdk-Info"), Attempt: r.Header.Get("PostHog-Attempt"), RequestID: r.Header.Get("PostHog-Request-Id"),
		RequestTimestamp: r.Header.Get("PostHog-Request-Timestamp"), UserAgent: r.UserAgent(),
	}
	_, err = q.headers.Check()
	return q, err
}

// resultsV1 returns the response body with the result of each event (§6.3). Duplicates are ok,
// because an earlier request has stored them.
func resultsV1(s *capture.Submission, receipt *capture.Receipt) []byte {
	out := append(make([]byte, 0, 64*len(s.Items)+16), `{"results":{`...)
	for i, reason := range receipt.Results {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), s.Items[i].UUID.String()...), `":{"result":"`...)
		switch {
		case reason == capture.NotDropped && capture.IsImpersonalV1(s.Items[i].DistinctID):
			out = append(out, `warning","details":"person_processing_disabled"}`...)
		case reason == capture.NotDropped || reason == capture.Duplicate:
			out = append(out, `ok"}`...)
		default:
			out = append(append(append(out, `drop","details":"`...), reason...), `"}`...)
		}
	}
	return append(out, "}}"...)
}

// isAllOverQuota reports whether every event was dropped because of a quota (§13.4 item 4).
func isAllOverQuota(receipt *capture.Receipt) bool {
	return !slices.ContainsFunc(receipt.Results, func(r capture.DropReason) bool { return !r.IsOverQuota() })
}

// errorV1 is the body of error responses of protocol v1 (§6.2).
type errorV1 struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
	URI         string `json:"error_uri"`
}

const (
	docsURI    = "https://posthog.com/docs/api"
	billingURI = "https://posthog.com/docs/billing/limits-alerts"
)

// problemV1 sets the body of a problem, or of an error of capture, to the format of protocol v1. It
// returns all other errors unchanged.
func problemV1(err error) error {
	var target *problem.Problem
	var rejection *capture.V1Error
	p, body := problem.Problem{}, errorV1{URI: docsURI}
	switch {
	case errors.As(err, &rejection):
		p.Status, p.Detail, body.Error, body.Description = rejection.Status, rejection.Description, rejection.Tag, rejection.Description
	case errors.As(err, &target):
		p, body.Error, body.Description = *target, target.Code, target.Detail
	default:
		return err
	}
	if p.Status == http.StatusPaymentRequired {
		body.URI = billingURI
	}
	p.Body, _ = json.Marshal(body) // marshaling strings cannot fail
	if p.Status >= 500 {
		return errors.Join(&p, err)
	}
	return &p
}
