package intake

import (
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture"
)

// Service accepts events.
type Service struct {
	*frame.Server
	Intake             *capture.Intake
	MaxCaptureBody     int64
	requests, rejected atomic.Uint64
}

// New returns the service of an Intake, which may be nil. Bodies have at most maxBody bytes.
func New(s *frame.Server, intake *capture.Intake, maxBody int64) *Service {
	return &Service{Server: s, Intake: intake, MaxCaptureBody: maxBody}
}

// Counts returns the number of requests, and of those that were refused.
func (s *Service) Counts() (requests, rejected uint64) {
	return s.requests.Load(), s.rejected.Load()
}

// Endpoints returns the endpoints that are served if the server has an Intake (§1.1, §1.2, §16.3).
// Each path is served with and without a trailing slash. Except for /engage, the shape of the body
// determines its meaning, not the path (§3.5).
func (s *Service) Endpoints() []frame.Endpoint {
	// The methods of all paths that capture v0 events.
	v0 := frame.Methods{"POST": s.intake(s.events), "GET": s.intake(s.events), "HEAD": frame.HeadJSON}
	return slices.Concat(
		frame.Serving(frame.ForIntake, "/i/v0/e", v0),
		frame.Serving(frame.ForIntake, "/e", v0),
		frame.Serving(frame.ForIntake, "/capture", v0),
		frame.Serving(frame.ForIntake, "/batch", v0),
		frame.Serving(frame.ForIntake, "/track", v0),
		frame.Serving(frame.ForIntake, "/engage", frame.Methods{"POST": s.intake(s.engage), "GET": s.intake(s.engage), "HEAD": frame.HeadJSON}),
		frame.Serving(frame.ForIntake, "/i/v0/ai/batch", v0),
		frame.Serving(frame.ForIntake, "/s", frame.Methods{"POST": s.intake(s.postRecording)}),
		frame.Serving(frame.ForIntake, "/i/v1/analytics/events", frame.Methods{"POST": s.intake(s.postV1)}),
		frame.Serving(frame.ForIntake, "/i/v1/ai/events", frame.Methods{"POST": s.intake(s.postV1)}),
		frame.Serving(frame.ForIntake, "/test/black_hole", frame.Methods{"POST": frame.AcceptBlindly}),
	)
}

// PageEndpoints returns the endpoints that web pages which send events request too. The responses
// are computed from the definitions of the project.
func (s *Service) PageEndpoints() []frame.Endpoint {
	return slices.Concat(
		frame.Serving(frame.ForIntake, "/api/surveys", frame.Methods{"POST": s.surveys, "GET": s.surveys}),
		frame.Serving(frame.ForIntake, "/surveys", frame.Methods{"POST": s.surveys, "GET": s.surveys}),
		frame.Serving(frame.ForIntake, "/api/early_access_features", frame.Methods{"GET": s.getEarlyAccess}),
	)
}

// intake returns a handler that calls h with a new lease of the memory budget. It counts requests
// and rejected requests, and converts the errors of h to those of §4.2.
func (s *Service) intake(h func(http.ResponseWriter, *http.Request, *admission.Lease) error) frame.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		s.requests.Add(1)
		l := s.Budget.NewLease(w, r, s)
		defer l.Release()
		err := h(w, r, l)
		if err != nil {
			s.rejected.Add(1)
			l.ReleaseDelayed()
			err = captureProblem(err)
		}
		return err
	}
}

func (s *Service) events(w http.ResponseWriter, r *http.Request, l *admission.Lease) error {
	return s.ingest(w, r, l, capture.DecodeOptions{})
}

func (s *Service) engage(w http.ResponseWriter, r *http.Request, l *admission.Lease) error {
	return s.ingest(w, r, l, capture.DecodeOptions{Engage: true})
}

// ingest handles a v0 request. It responds with 200 when the events are durable (decision 13).
func (s *Service) ingest(w http.ResponseWriter, r *http.Request, l *admission.Lease, o capture.DecodeOptions) error {
	from := s.origin(r)
	q := parseCaptureQuery(r.URL.RawQuery)
	text, err := s.readCapture(r, &q, l, s.MaxCaptureBody)
	if err != nil {
		return err
	}
	o.SentAt, o.Reserve = q.sentAt, l.Acquire
	submission, err := capture.Decode(text, o)
	if err != nil {
		return err
	}
	token, err := submission.Token()
	if err == nil { // otherwise Accept returns the error
		frame.ExchangeOf(r.Context()).NoteToken(token)
	}
	if err := acquireForStoring(l, len(text), len(submission.Items)); err != nil {
		return err
	}
	receipt, err := s.Intake.Accept(r.Context(), submission, from)
	if err != nil {
		return err
	}
	s.recordUsage(r, token, &receipt) // without the submission, whose memory is free while Accept waits
	if q.beacon {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	frame.Write(w, http.StatusOK, frame.Accepted)
	return nil
}

// recordUsage adds the accepted events to the usage of the project by SDK.
func (s *Service) recordUsage(r *http.Request, token string, receipt *capture.Receipt) {
	s.Usage.Add(token, frame.UsageEvents, frame.UsageKey(token), frame.SDKOf(r), receipt.Accepted)
}

// origin returns the time of a request and the address of its client. The address is stored, so
// X-Forwarded-For is used only if a trusted proxy has set it (§1.6).
func (s *Service) origin(r *http.Request) capture.Origin {
	from := capture.Origin{IP: s.ClientIP(r)}
	if s.Decider != nil {
		from.ReceivedAt = s.Decider.Now()
	}
	return from
}

// eventMemory is the approximate memory, in bytes, that storing an event needs in addition to its
// text.
const eventMemory = 600

// acquireForStoring reserves the memory for storing the events of a body, in addition to the body
// and its items: the stored text, and the events themselves. A submission is stored in pieces, so
// only one piece counts.
func acquireForStoring(l *admission.Lease, text, items int) error {
	bytes, events := capture.PieceSize(text, items)
	return l.Acquire(int64(bytes) + int64(bytes)/8 + eventMemory*int64(events))
}

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
