package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/capture"
)

const (
	allowCapture  = "GET, POST, OPTIONS, HEAD"
	allowEvents   = "POST, OPTIONS"
	allowSurveys  = "GET, POST, OPTIONS, HEAD"
	allowFeatures = "GET, OPTIONS, HEAD"
)

// THE TABLE: every route that is served with an Intake (§1.1, §1.2, §16.3). A
// path serves with and without a trailing slash; the shape of a body decides
// what it is, never the path, but for /engage (§3.5).
var captureRoutes = []route{
	{"/i/v0/e", eventMethods, allowCapture, true},
	{"/e", eventMethods, allowCapture, true},
	{"/capture", eventMethods, allowCapture, true},
	{"/batch", eventMethods, allowCapture, true},
	{"/track", eventMethods, allowCapture, true},
	{"/engage", engageMethods, allowCapture, true},
	{"/i/v0/ai/batch", eventMethods, allowCapture, true},
	{"/s", methods{"POST": intake(postRecording), "OPTIONS": options}, allowEvents, true},
	{"/i/v1/analytics/events", methods{"POST": intake(postV1), "OPTIONS": options}, allowEvents, true},
	{"/i/v1/ai/events", methods{"POST": intake(postV1), "OPTIONS": options}, allowEvents, true},
	{"/test/black_hole", methods{"POST": blackHole, "OPTIONS": options}, allowEvents, true},
	{"/api/surveys", surveyMethods, allowSurveys, true},
	{"/surveys", surveyMethods, allowSurveys, true},
	{"/api/early_access_features", methods{"GET": getEarlyAccess, "HEAD": headJSON, "OPTIONS": options}, allowFeatures, true},
}

var (
	eventMethods  = methods{"POST": intake(events), "GET": intake(events), "HEAD": headJSON, "OPTIONS": options}
	engageMethods = methods{"POST": intake(engage), "GET": intake(engage), "HEAD": headJSON, "OPTIONS": options}
	surveyMethods = methods{"POST": surveys, "GET": surveys, "HEAD": headJSON, "OPTIONS": options}
)

// accepted is the body of every success (decision 16). It is an object because
// SDKs look for members in it.
var accepted = []byte(`{"status":1}`)

// options answers without a look at anything (§1.4 item 2).
func options(s *server, w http.ResponseWriter, _ *http.Request) error {
	s.write(w, http.StatusOK, accepted)
	return nil
}

// blackHole is for load tests (§1.2).
func blackHole(s *server, w http.ResponseWriter, _ *http.Request) error {
	s.write(w, http.StatusOK, accepted)
	return nil
}

// intake counts requests and those that are refused, and puts the errors of a
// handler into the words of §4.2.
func intake(h func(*server, http.ResponseWriter, *http.Request, *lease) error) handler {
	return func(s *server, w http.ResponseWriter, r *http.Request) error {
		s.stats.captureRequests.Add(1)
		l := s.budget.lease(s, w, r)
		defer l.release()
		err := h(s, w, r, l)
		if err != nil {
			s.stats.captureRefused.Add(1)
			l.dismiss()
			err = captureProblem(err)
		}
		return err
	}
}

func events(s *server, w http.ResponseWriter, r *http.Request, l *lease) error {
	return s.takeIn(w, r, l, capture.DecodeOptions{})
}

func engage(s *server, w http.ResponseWriter, r *http.Request, l *lease) error {
	return s.takeIn(w, r, l, capture.DecodeOptions{Engage: true})
}

// takeIn answers a v0 request: 200 when its events are durable (decision 13).
func (s *server) takeIn(w http.ResponseWriter, r *http.Request, l *lease, o capture.DecodeOptions) error {
	from := s.origin(r)
	q := parseCaptureQuery(r.URL.RawQuery)
	text, err := s.readCapture(w, r, &q, l, s.MaxCaptureBody)
	if err != nil {
		return err
	}
	o.SentAt, o.Reserve = capture.QuerySentAt(q.sentAt), l.take
	submission, err := capture.Decode(text, o)
	if err != nil {
		return err
	}
	if token, err := submission.Token(); err == nil {
		exchangeOf(r.Context()).noteToken(token)
	}
	if err := l.takeRecording(len(text), len(submission.Items)); err != nil {
		return err
	}
	receipt, err := s.Intake.Accept(r.Context(), submission, from)
	if err != nil {
		return err
	}
	s.spend(r, submission, &receipt)
	if q.beacon {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	s.write(w, http.StatusOK, accepted)
	return nil
}

// spend notes who has sent events.
func (s *server) spend(r *http.Request, submission *capture.Submission, receipt *capture.Receipt) {
	if token, err := submission.Token(); err == nil {
		s.spent.add(token, spentEvents, spentKey(token), sdkOf(r), receipt.Accepted)
	}
}

// origin is where and when a request came from. The address is by the strict
// reading, because it is stored: only a trusted proxy may speak for another
// (§1.6).
func (s *server) origin(r *http.Request) capture.Origin {
	return capture.Origin{IP: s.clientIP(r), ReceivedAt: s.Decider.Now()}
}
