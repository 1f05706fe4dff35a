package httpapi

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/capture"
)

// captureEndpoints are the endpoints that are served if the server has an Intake (§1.1, §1.2,
// §16.3). Each path is served with and without a trailing slash. Except for /engage, the shape of
// the body determines its meaning, not the path (§3.5).
var captureEndpoints = slices.Concat(
	serving(forIntake, "/i/v0/e", captureMethods),
	serving(forIntake, "/e", captureMethods),
	serving(forIntake, "/capture", captureMethods),
	serving(forIntake, "/batch", captureMethods),
	serving(forIntake, "/track", captureMethods),
	serving(forIntake, "/engage", methods{"POST": intake(engage), "GET": intake(engage), "HEAD": headJSON}),
	serving(forIntake, "/i/v0/ai/batch", captureMethods),
	serving(forIntake, "/s", methods{"POST": intake(postRecording)}),
	serving(forIntake, "/i/v1/analytics/events", methods{"POST": intake(postV1)}),
	serving(forIntake, "/i/v1/ai/events", methods{"POST": intake(postV1)}),
	serving(forIntake, "/test/black_hole", methods{"POST": acceptBlindly}),
)

// pageEndpoints are requested by web pages that also send events. The responses are computed from
// the definitions of the project.
var pageEndpoints = slices.Concat(
	serving(forIntake, "/api/surveys", methods{"POST": surveys, "GET": surveys}),
	serving(forIntake, "/surveys", methods{"POST": surveys, "GET": surveys}),
	serving(forIntake, "/api/early_access_features", methods{"GET": getEarlyAccess}),
)

// captureMethods are the methods of all paths that capture v0 events.
var captureMethods = methods{"POST": intake(events), "GET": intake(events), "HEAD": headJSON}

// accepted is the body of all successful responses (decision 16). It is an object because SDKs read
// members of it.
var accepted = []byte(`{"status":1}`)

// acceptBlindly responds with success without reading the request, for OPTIONS (§1.4 item 2) and
// for load tests (§1.2).
func acceptBlindly(s *server, w http.ResponseWriter, _ *http.Request) error {
	s.write(w, http.StatusOK, accepted)
	return nil
}

// intake returns a handler that calls h with a new lease of the memory budget. It counts requests
// and rejected requests, and converts the errors of h to those of §4.2.
func intake(h func(*server, http.ResponseWriter, *http.Request, *memoryLease) error) handler {
	return func(s *server, w http.ResponseWriter, r *http.Request) error {
		s.stats.captureRequests.Add(1)
		l := s.budget.newLease(w, r, s)
		defer l.release()
		err := h(s, w, r, l)
		if err != nil {
			s.stats.captureRefused.Add(1)
			l.releaseDelayed()
			err = captureProblem(err)
		}
		return err
	}
}

func events(s *server, w http.ResponseWriter, r *http.Request, l *memoryLease) error {
	return s.ingest(w, r, l, capture.DecodeOptions{})
}

func engage(s *server, w http.ResponseWriter, r *http.Request, l *memoryLease) error {
	return s.ingest(w, r, l, capture.DecodeOptions{Engage: true})
}

// ingest handles a v0 request. It responds with 200 when the events are durable (decision 13).
func (s *server) ingest(w http.ResponseWriter, r *http.Request, l *memoryLease, o capture.DecodeOptions) error {
	from := s.origin(r)
	q := parseCaptureQuery(r.URL.RawQuery)
	text, err := s.readCapture(r, &q, l, s.MaxCaptureBody)
	if err != nil {
		return err
	}
	o.SentAt, o.Reserve = capture.QuerySentAt(q.sentAt), l.acquire
	submission, err := capture.Decode(text, o)
	if err != nil {
		return err
	}
	if token, err := submission.Token(); err == nil {
		exchangeOf(r.Context()).noteToken(token)
	}
	if err := l.acquireForStoring(len(text), len(submission.Items)); err != nil {
		return err
	}
	receipt, err := s.Intake.Accept(r.Context(), submission, from)
	if err != nil {
		return err
	}
	s.recordUsage(r, submission, &receipt)
	if q.beacon {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	s.write(w, http.StatusOK, accepted)
	return nil
}

// recordUsage adds the accepted events to the usage of the project by SDK.
func (s *server) recordUsage(r *http.Request, submission *capture.Submission, receipt *capture.Receipt) {
	if token, err := submission.Token(); err == nil {
		s.usage.add(token, usageEvents, usageKey(token), sdkOf(r), receipt.Accepted)
	}
}

// origin returns the time of a request and the address of its client. The address is stored, so
// X-Forwarded-For is used only if a trusted proxy has set it (§1.6).
func (s *server) origin(r *http.Request) capture.Origin {
	from := capture.Origin{IP: s.ClientIP(r)}
	if s.Decider != nil {
		from.ReceivedAt = s.Decider.Now()
	}
	return from
}
