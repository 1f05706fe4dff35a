package httpapi

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management/organizations"
)

// programEndpoints sign programs in by a code that a person confirms in the console
// (clients.md §14.2). The first two know no cookie.
var programEndpoints = slices.Concat(
	resource(atSignIn, public, signInOf, []row[signInDesk]{
		by(http.MethodPost, "/cli-auth/device-code", "Begin to sign a program in: its codes", beginProgram).taking(organizations.ProgramFields).uncompressed(),
		by(http.MethodPost, "/cli-auth/poll", "Ask whether the program may: its key, once", pollProgram).taking(organizations.PollFields).giving(programLetIn{}).orLater(programState{}).uncompressed(),
	}),
	resource(atSignIn, "user", signInOf, []row[signInDesk]{
		by(http.MethodPost, "/cli-auth/look", "Say what the program of a code asks for", lookAtProgram).taking(organizations.UserCodeFields).needs(anyKey),
		by(http.MethodPost, "/cli-auth/authorize", "Let the program of a code in, to one project", authorizeProgram).taking(organizations.AuthorizeFields).needs(anyKey).proven(),
		by(http.MethodPost, "/cli-auth/refuse", "Refuse the program of a code", refuseProgram).taking(organizations.UserCodeFields).needs(anyKey).answering(http.StatusNoContent),
	}),
)

// programCodes are what a program begins with; times in seconds.
type programCodes struct {
	DeviceCode string `json:"device_code"`
	UserCode   string `json:"user_code"`
	Address    string `json:"verification_uri"`
	Complete   string `json:"verification_uri_complete"`
	ExpiresIn  int    `json:"expires_in"`
	Interval   int    `json:"interval"`
}

// programState is what a program is told that has no key; of errors by RFC 8628 too.
type programState struct {
	Status      string `json:"status"`
	Error       string `json:"error,omitempty"`
	Description string `json:"error_description,omitempty"`
}

type programLetIn struct {
	Status  string   `json:"status"`
	Key     string   `json:"personal_api_key"`
	Label   string   `json:"label"`
	Project string   `json:"project_id"`
	Scopes  []string `json:"scopes"`
}

type programAllowed struct {
	Status string `json:"status"`
	Label  string `json:"label"`
	Mask   string `json:"mask_value"`
}

// programAnswers are those without a key.
var programAnswers = map[string]answer{
	organizations.PollWaits:   {status: http.StatusAccepted, body: programState{Status: "pending"}},
	organizations.PollSlow:    {status: http.StatusBadRequest, body: programState{"pending", "slow_down", "Polled too often"}},
	organizations.PollRefused: {status: http.StatusBadRequest, body: programState{"denied", "access_denied", "The sign-in was refused"}},
	organizations.PollExpired: {status: http.StatusBadRequest, body: programState{"expired", "expired_token", "Device code expired"}},
}

// network is whom limits by address are for: of IPv6 everybody has 2^64.
func network(ip netip.Addr) string {
	if ip = ip.Unmap(); ip.Is6() {
		if p, err := ip.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}

func (of signInDesk) programs() organizations.Programs { return of.Management.Organizations.Programs }

// consoleAt is the address of a page of the console.
func (of signInDesk) consoleAt(c *call, page string) string {
	base := strings.TrimSuffix(of.SignIn.SiteURL, "/")
	if base == "" {
		base = of.scheme(c.r) + "://" + c.r.Host + of.mountedAt(c.r)
	}
	return base + "/console/" + page
}

func beginProgram(of signInDesk, c *call) (*programCodes, error) {
	c.once()
	from := network(of.clientIP(c.r))
	if wait := of.manageLimits.signIns.take("program "+from, of.manageLimits.now()); wait > 0 {
		return nil, of.throttled(wait)
	}
	device, user, err := of.programs().Begin(c.ctx, c.body, from)
	if err != nil {
		return nil, err
	}
	page := of.consoleAt(c, "connect")
	return &programCodes{
		DeviceCode: device, UserCode: user, Address: page, Complete: page + "?" + url.Values{"code": {user}}.Encode(),
		ExpiresIn: int(organizations.ProgramLife / time.Second), Interval: int(organizations.ProgramInterval / time.Second),
	}, nil
}

// pollProgram counts codes that are not known: they may be guesses.
func pollProgram(of signInDesk, c *call) (any, error) {
	c.once()
	from, now := "program "+network(of.clientIP(c.r)), of.manageLimits.now()
	if wait := of.manageLimits.failures.full(from, now); wait > 0 {
		return nil, of.throttled(wait)
	}
	p, err := of.programs().Poll(c.ctx, c.body)
	if err != nil {
		return nil, err
	}
	if p.State == organizations.PollExpired {
		of.manageLimits.failures.take(from, now)
	}
	if p.State != organizations.PollLetIn {
		return programAnswers[p.State], nil
	}
	return programLetIn{p.State, p.Key, p.Label, strconv.FormatInt(p.Project, 10), p.Scopes}, nil
}

// mayName refuses a person who tries too many codes.
func (of signInDesk) mayName(c *call) error {
	c.once()
	if wait := of.manageLimits.guesses.take("program "+c.standing.User.UUID, of.manageLimits.now()); wait > 0 {
		return of.throttled(wait)
	}
	return nil
}

func lookAtProgram(of signInDesk, c *call) (*organizations.Program, error) {
	if err := of.mayName(c); err != nil {
		return nil, err
	}
	return of.programs().Look(c.ctx, c.standing, c.body)
}

func authorizeProgram(of signInDesk, c *call) (*programAllowed, error) {
	if err := of.mayName(c); err != nil {
		return nil, err
	}
	k, err := of.programs().Authorize(c.ctx, c.standing, c.body)
	if err != nil {
		return nil, err
	}
	return &programAllowed{"success", k.Label, k.Mask}, nil
}

func refuseProgram(of signInDesk, c *call) (any, error) {
	if err := of.mayName(c); err != nil {
		return nil, err
	}
	return nil, of.programs().Refuse(c.ctx, c.standing, c.body)
}
