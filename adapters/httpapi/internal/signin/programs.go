package signin

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// programEndpoints are the endpoints for signing programs in with a code that a user confirms in
// the console (clients.md §14.2). The first two do not use cookies.
var programEndpoints = slices.Concat(
	frame.Resource(frame.InSignIn, frame.Public, signInOf, []frame.Row[signInService]{
		frame.Handle(http.MethodPost, "/cli-auth/device-code", "Start the device authorization of a program and return its codes", beginProgram).WithBody(organizations.Bodies.Program).Uncompressed(),
		frame.Handle(http.MethodPost, "/cli-auth/poll", "Poll a device authorization; once it is approved, one response has the API key", pollProgram).WithBody(organizations.Bodies.Poll).WithResponse(programKey{}).WithLaterResponse(programState{}).Uncompressed(),
	}),
	frame.Resource(frame.InSignIn, "user", signInOf, []frame.Row[signInService]{
		frame.Handle(http.MethodPost, "/cli-auth/look", "Read what the program with a user code requests", withTries(organizations.Programs.Inspect)).WithBody(organizations.Bodies.UserCode).WithScope(frame.AnyKey),
		frame.Handle(http.MethodPost, "/cli-auth/authorize", "Approve the program with a user code for one project", authorizeProgram).WithBody(organizations.Bodies.Authorization).WithScope(frame.AnyKey).WithProof(),
		frame.Handle(http.MethodPost, "/cli-auth/refuse", "Deny the program with a user code", refuseProgram).WithBody(organizations.Bodies.UserCode).WithScope(frame.AnyKey).WithStatus(http.StatusNoContent),
	}),
)

// programCodes is the response with the codes of a new sign-in. Times are in seconds.
type programCodes struct {
	DeviceCode string `json:"device_code"`
	UserCode   string `json:"user_code"`
	Address    string `json:"verification_uri"`
	Complete   string `json:"verification_uri_complete"`
	ExpiresIn  int    `json:"expires_in"`
	Interval   int    `json:"interval"`
}

// programState is the response to a poll without a key. The error members follow RFC 8628.
type programState struct {
	Status      string `json:"status"`
	Error       string `json:"error,omitempty"`
	Description string `json:"error_description,omitempty"`
}

// programKey is the response to a poll after the user has confirmed, with the new key.
type programKey struct {
	Status  string   `json:"status"`
	Key     string   `json:"personal_api_key"`
	Label   string   `json:"label"`
	Project string   `json:"project_id"`
	Scopes  []string `json:"scopes"`
}

// programConfirmation is the response to the user who confirms a program.
type programConfirmation struct {
	Status string `json:"status"`
	Label  string `json:"label"`
	Mask   string `json:"mask_value"`
}

// programAnswers are the responses to polls without a key, by the state of the program.
var programAnswers = map[string]frame.Answer{
	"pending":   {Status: http.StatusAccepted, Body: programState{Status: "pending"}},
	"slow_down": {Status: http.StatusBadRequest, Body: programState{"pending", "slow_down", "Polled too often"}},
	"denied":    {Status: http.StatusBadRequest, Body: programState{"denied", "access_denied", "The sign-in was refused"}},
	"expired":   {Status: http.StatusBadRequest, Body: programState{"expired", "expired_token", "Device code expired"}},
}

// networkOf returns the network that limits by address apply to. For IPv6 that is the /64, since
// one client may have all of its addresses.
func networkOf(ip netip.Addr) string {
	if ip = ip.Unmap(); ip.Is6() {
		if p, err := ip.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}

func (svc signInService) programs() organizations.Programs {
	return svc.Management.Organizations.Programs
}

// consoleURL returns the URL of a page of the console.
func (svc signInService) consoleURL(c *frame.Call, page string) string {
	base := strings.TrimSuffix(svc.SignIn.SiteURL, "/")
	if base == "" {
		base = svc.Scheme(c.R) + "://" + c.R.Host + svc.MountPrefix(c.R)
	}
	return base + "/console/" + page
}

func beginProgram(svc signInService, c *frame.Call) (*programCodes, error) {
	forbidCaching(c)
	from := networkOf(svc.ClientIP(c.R))
	if wait := svc.Limits.SignIns.Add("program "+from, svc.Limits.Now()); wait > 0 {
		return nil, svc.Limits.Throttle(wait)
	}
	codes, err := svc.programs().Begin(c.Ctx, c.Body, from)
	if err != nil {
		return nil, err
	}
	page := svc.consoleURL(c, "connect")
	return &programCodes{
		DeviceCode: codes.Device, UserCode: codes.User, Address: page, Complete: page + "?" + url.Values{"code": {codes.User}}.Encode(),
		ExpiresIn: int(codes.Life / time.Second), Interval: int(codes.Interval / time.Second),
	}, nil
}

// pollProgram returns the state of a sign-in. It counts expired and unknown codes as failures,
// because they may be guesses.
func pollProgram(svc signInService, c *frame.Call) (any, error) {
	forbidCaching(c)
	from, now := "program "+networkOf(svc.ClientIP(c.R)), svc.Limits.Now()
	if wait := svc.Limits.Failures.Check(from, now); wait > 0 {
		return nil, svc.Limits.Throttle(wait)
	}
	p, err := svc.programs().Poll(c.Ctx, c.Body)
	if err != nil {
		return nil, err
	}
	if p.State == "expired" {
		svc.Limits.Failures.Add(from, now)
	}
	if answer, ok := programAnswers[p.State]; ok {
		return answer, nil
	}
	return programKey{p.State, p.Key, p.Label, strconv.FormatInt(p.Project, 10), p.Scopes}, nil
}

// checkCodeTries counts a code that the user entered, and returns an error if there were too
// many.
func (svc signInService) checkCodeTries(c *frame.Call) error {
	forbidCaching(c)
	if wait := svc.Limits.Guesses.Add("program "+c.Scope.User.UUID, svc.Limits.Now()); wait > 0 {
		return svc.Limits.Throttle(wait)
	}
	return nil
}

// withTries adapts a method that reads the code that the user entered.
func withTries[T any](do func(organizations.Programs, context.Context, *management.Scope, management.Body) (T, error)) func(signInService, *frame.Call) (T, error) {
	return func(svc signInService, c *frame.Call) (out T, err error) {
		if err := svc.checkCodeTries(c); err != nil {
			return out, err
		}
		return do(svc.programs(), c.Ctx, c.Scope, c.Body)
	}
}

func authorizeProgram(svc signInService, c *frame.Call) (*programConfirmation, error) {
	k, err := withTries(organizations.Programs.Authorize)(svc, c)
	if err != nil {
		return nil, err
	}
	return &programConfirmation{"success", k.Label, k.Mask}, nil
}

func refuseProgram(svc signInService, c *frame.Call) (any, error) {
	if err := svc.checkCodeTries(c); err != nil {
		return nil, err
	}
	return nil, svc.programs().Deny(c.Ctx, c.Scope, c.Body)
}
