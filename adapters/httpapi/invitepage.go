package httpapi

import (
	"errors"
	"html/template"
	"net/http"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// invitePage is what the page of an invitation shows: a form, or what has become
// of it.
type invitePage struct {
	Invite *management.Invitation // the form, nil for none
	Secret string
	// Account: there is an account of the address, a key of which is asked for.
	Account bool
	// Displace: that account has never proven the address, and the secret does.
	Displace bool
	Roles    []string
	Role     string
	Problem  string
	Done     *management.Accepted
	Site     string
}

var inviteTemplate = template.Must(template.New("invite").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Invitation</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 34em; margin: 3em auto; padding: 0 1em; color: #222; background: #fff }
label { display: block; margin: 1em 0 .2em }
input, select { font: inherit; width: 100%; padding: .4em; box-sizing: border-box }
button { font: inherit; margin-top: 1.5em; padding: .5em 1.5em }
code { display: block; padding: .8em; background: #eee; overflow-wrap: anywhere }
.problem { color: #a00 }
</style>
</head>
<body>
<h1>Invitation</h1>
{{with .Problem}}<p class="problem" role="alert">{{.}}</p>
{{end}}{{with .Done}}<p>You are a member of {{.Organization}} now, as {{.Email}}.</p>
{{if .Key}}<p>This is your personal API key. It is shown this once: keep it where nobody else can read it.</p>
<code>{{.Key}}</code>
{{end}}<p>The API is at {{$.Site}}/api/.</p>
{{end}}{{with .Invite}}<p>{{.Email}} is invited to the organization {{.Organization}}.</p>
<form method="post" action="?">
<input type="hidden" name="secret" value="{{$.Secret}}">
{{if $.Account}}<p>There is an account of this address already: a personal API key of that account accepts the invitation.</p>
<label for="key">Personal API key</label>
<input id="key" name="personal_api_key" type="password" autocomplete="off" required>
{{if $.Displace}}<button>Accept</button>
{{end}}{{end}}{{if $.Displace}}</form>
<h2>That account is not yours?</h2>
<p>It has never proven that the address is its own; this mail does. Go on without it: you get an account of your own, and the other one loses the address.</p>
<form method="post" action="?">
<input type="hidden" name="secret" value="{{$.Secret}}">
{{end}}{{if or $.Displace (not $.Account)}}<label for="name">First name</label>
<input id="name" name="first_name" value="{{.FirstName}}" maxlength="128" autocomplete="given-name" required>
<label for="role">Role</label>
<select id="role" name="role_at_organization">
<option value=""></option>
{{range $.Roles}}<option value="{{.}}"{{if eq . $.Role}} selected{{end}}>{{.}}</option>
{{end}}</select>
{{end}}<button>Accept</button>
</form>
{{end}}</body>
</html>
`))

// pagePolicy lets the page load nothing, be framed by nobody, and send its form
// only here.
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

func (c *call) showPage(status int, p *invitePage) (any, error) {
	p.Site, p.Roles = c.site(), management.RolesAtOrganization
	var b strings.Builder
	if err := inviteTemplate.Execute(&b, p); err != nil {
		return nil, err
	}
	c.w.Header().Set("Content-Security-Policy", pagePolicy)
	c.w.Header().Set("X-Content-Type-Options", "nosniff")
	return answer{status: status, raw: []byte(b.String()), kind: "text/html; charset=utf-8"}, nil
}

// showProblem shows what a person can mend or has to know; faults of ours go the
// way of all errors.
func (c *call) showProblem(err error, p *invitePage) (any, error) {
	told := problemOf(managementProblem(err))
	if told.Status >= http.StatusInternalServerError {
		return nil, err
	}
	if p.Problem = told.Detail; told.Code == management.CodeAccountExists { // whose detail is an address for programs
		p.Problem = "A personal API key of the account is needed."
	}
	return c.showPage(told.Status, p)
}

// inviteForm is the page with the form, as far as the invitation can be accepted.
func (of inviteDesk) form(c *call) (*invitePage, error) {
	id := c.part("invite")
	p := &invitePage{Secret: c.secret()}
	var told *management.Error
	var err error
	if p.Invite, err = of.Look(c.ctx, nil, id, ""); errors.As(err, &told) && told.Code == management.CodeAccountExists {
		p.Account = true
		_, free := of.Look(c.ctx, nil, id, p.Secret)
		p.Displace = free == nil
		p.Invite, err = of.Describe(c.ctx, id)
	}
	if err != nil || p.Account {
		return p, err
	}
	opens, err := of.Opens(c.ctx, id, p.Secret)
	if err == nil && !opens {
		p.Invite = nil
		err = management.Fault("", "This link is not complete: use all of it, as it stands in the mail.")
	}
	return p, err
}

// getInvitePage shows the form. Reading the page accepts nothing, so that
// programs that follow the links of mails do no harm.
func getInvitePage(of inviteDesk, c *call) (any, error) {
	if wantsJSON(c.r) {
		return lookAtInvite(of, c)
	}
	c.once()
	p, err := of.form(c)
	if err != nil {
		return c.showProblem(err, p)
	}
	return c.showPage(http.StatusOK, p)
}

// postInvitePage accepts and shows the key, or the form again with what is wrong.
func postInvitePage(of inviteDesk, c *call) (any, error) {
	accepted, err := acceptInvite(of, c)
	switch {
	case wantsJSON(c.r):
		return accepted, err
	case err == nil:
		return c.showPage(http.StatusCreated, &invitePage{Done: accepted})
	}
	p, formErr := of.form(c)
	if formErr == nil && p.Invite != nil {
		if name := textMember(c.body, "first_name"); name != "" {
			p.Invite.FirstName = name
		}
		p.Role = textMember(c.body, "role_at_organization")
	}
	return c.showProblem(err, p)
}
