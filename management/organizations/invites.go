package organizations

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindInvite is the kind of records of invitations: Parent is the organization, Other the
// organization and the address (invitesOf), Sort an increasing number, Unique the id.
const kindInvite = "invite"

// inviteLife is how long an invitation can be accepted. Pending addresses and queued mails expire
// after the same time.
const inviteLife = 3 * 24 * time.Hour

// maxBulkInvites is the greatest number of invitations of one request.
const maxBulkInvites = 20

// inviteSettings are the fields that are the same in records and in responses.
type inviteSettings struct {
	ID        string           `json:"id"`
	Email     string           `json:"target_email"`
	FirstName string           `json:"first_name"`
	Emailed   bool             `json:"emailing_attempt_made"`
	Level     management.Level `json:"level"`
	Created   management.Stamp `json:"created_at"`
	Message   *string          `json:"message"`
	Access    []projectGrant   `json:"private_project_access"`
}

// invite is an invitation to an organization in responses (§2.8 of the interface).
type invite struct {
	inviteSettings
	// Expired is also true if the inviter may not grant the level any more.
	Expired   bool                 `json:"is_expired"`
	CreatedBy *management.UserView `json:"created_by"`
	Updated   management.Stamp     `json:"updated_at"`
	// AcceptURL is the link of the invitation. It is only in the response that creates the
	// invitation, and only if no mail is sent (decision 22).
	AcceptURL string `json:"accept_url,omitempty"`
}

// storedInvite is the stored form of an invitation.
type storedInvite struct {
	inviteSettings
	Organization string `json:"organization"`
	CreatorID    int64  `json:"created_by"` // the user's number
	// Secrets are the secrets that open the invitation, newest last.
	Secrets []inviteSecret `json:"secrets,omitempty"`
	Number  int64          `json:"number"`
}

// inviteSecret is the hash of the secret of one link. Each attempt to send a mail generates a
// secret of its own, so that none must be stored in clear until the mail server accepts the mail.
// Any of them opens the invitation, and they are deleted with it.
type inviteSecret struct {
	Hash string `json:"hash"`
	// Mailed reports whether the secret was only sent by mail, so that it proves access to the
	// invited address.
	Mailed bool `json:"mailed,omitempty"`
}

// maxSecrets is the greatest number of secrets of an invitation; older secrets are dropped.
const maxSecrets = 32

// Invites manages invitations and their acceptance (§4.5, decision 22). List returns them newest first,
// including expired ones, and Delete cancels one.
type Invites struct {
	*core
	resource.Resource[Tx, storedInvite, invite]
}

// newInvites returns the service. Invitations are created by invite instead of Resource.Create, so
// their Spec has no Fields.
func newInvites(c *core) Invites {
	return Invites{c, resource.NewResource(&c.Env, resource.Spec[Tx, storedInvite, invite]{
		Kind: kindInvite, ActivityScope: "OrganizationInvite", AdminsOnly: true, NewestFirst: true, Parent: organizationParent,
		Header: func(_ *management.Scope, i *storedInvite) resource.RecordHeader {
			return resource.RecordHeader{Parent: i.Organization, ID: i.ID, Title: i.Email}
		},
		Load: func(v *view, id string, _ *management.Body) (*storedInvite, error) {
			invite, err := inviteByID(v.Tx, id)
			// Ids are unique over all organizations, so the organization must be checked.
			if invite != nil && invite.Organization != v.Organization.ID {
				invite = nil
			}
			return invite, err
		},
		Put:    func(v *view, i *storedInvite) error { return i.put(v.Tx) },
		Delete: func(v *view, i *storedInvite) error { return deleteInvite(v.Tx, i) },
		Show: func(v *view, i *storedInvite) (*invite, error) {
			creator, err := v.Author(i.CreatorID)
			if err != nil {
				return nil, err
			}
			level, err := inviterLevel(v.Tx, i)
			isExpired := i.isExpired(c.Env.Now()) || level < i.Level
			return &invite{inviteSettings: i.inviteSettings, Expired: isExpired, CreatedBy: creator, Updated: i.Created}, err
		},
	})}
}

// put stores the invitation.
func (i *storedInvite) put(tx Tx) error {
	return tx.Put(&management.Record{
		Kind: kindInvite, Parent: i.Organization, ID: i.ID, Other: invitesOf(i.Organization, i.Email), Sort: storage.SortNumber(i.Number), Unique: i.ID, Data: storage.Encode(i),
	})
}

// invitesOf returns the Record.Other of the invitations of an address to an organization.
func invitesOf(organization, email string) string {
	return organization + "/" + management.EmailKey(email)
}

// isExpired reports whether the invitation is older than inviteLife.
func (i *storedInvite) isExpired(now time.Time) bool { return now.Sub(i.Created.Time) > inviteLife }

// inviterLevel returns the present level of the inviter in the organization, 0 for a former member
// or an inactive user. An invitation with a higher level than that is void.
func inviterLevel(tx Tx, i *storedInvite) (management.Level, error) {
	creator, err := management.UserByNumber(tx, i.CreatorID)
	if err != nil || creator == nil || creator.Inactive {
		return 0, err
	}
	m, err := management.MembershipOf(tx, i.Organization, creator.UUID)
	if err != nil || m == nil {
		return 0, err
	}
	return m.Level, nil
}

// newSecret adds a random secret to the invitation and returns it. mailed must be true only if the
// secret is sent by mail and not in a response.
func (i *storedInvite) newSecret(mailed bool) string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	secret := base64.RawURLEncoding.EncodeToString(b[:])
	i.Secrets = append(i.Secrets, inviteSecret{Hash: management.HashKey(secret), Mailed: mailed})
	i.Secrets = i.Secrets[max(0, len(i.Secrets)-maxSecrets):]
	return secret
}

// findSecret returns the secret of the invitation, or nil if the secret is wrong. It compares with
// all secrets in constant time.
func (i *storedInvite) findSecret(secret string) (found *inviteSecret) {
	hash := []byte(management.HashKey(secret))
	for k := range i.Secrets {
		if subtle.ConstantTimeCompare([]byte(i.Secrets[k].Hash), hash) == 1 {
			found = &i.Secrets[k]
		}
	}
	return found
}

// inviteLink returns the link that accepts an invitation.
func inviteLink(site, id, secret string) string { return site + "/signup/" + id + "?secret=" + secret }

// Create invites a person. site is the address at which the caller has reached the server; links
// use it if Config.SiteURL is empty.
func (s Invites) Create(ctx context.Context, scope *management.Scope, site string, b management.Body) (*invite, error) {
	if err := checkInvite(scope); err != nil {
		return nil, err
	}
	out, err := management.Write(ctx, &s.Env, func(tx Tx) (*invite, error) { return s.invite(tx, scope, site, b) })
	return out, s.notifyQueued(err)
}

// CreateBulk creates all invitations of an array, or none. A single object counts as an array with
// one item. site is as for Create.
func (s Invites) CreateBulk(ctx context.Context, scope *management.Scope, site string, b management.Body) ([]invite, error) {
	if err := checkInvite(scope); err != nil {
		return nil, err
	}
	switch {
	case !b.IsArray && b.Members == nil:
		return nil, management.Fault("", "This endpoint needs an array of data for bulk invite creation.")
	case len(b.Array) > maxBulkInvites:
		return nil, management.CodedFault(management.CodeMaxLength, "", "A maximum of %d invites can be sent in a single request.", maxBulkInvites)
	}
	out, err := management.Write(ctx, &s.Env, func(tx Tx) ([]invite, error) {
		if !b.IsArray {
			one, err := s.invite(tx, scope, site, b)
			if err != nil {
				return nil, err
			}
			return []invite{*one}, nil
		}
		list := []invite{}
		for i, item := range invitesIn(b) {
			one, err := s.invite(tx, scope, site, item)
			if err != nil {
				return nil, prefixItem(err, i)
			}
			list = append(list, *one)
		}
		return list, nil
	})
	return out, s.notifyQueued(err)
}

// errInviteMember is the error for inviting a member; code may be empty.
func errInviteMember(code string) error {
	return management.CodedFault(cmp.Or(code, management.CodeInvalid), "", "A user with this email address already belongs to the organization.")
}

// checkInvite returns an error if the caller is a member who may not invite, by the organization's
// setting.
func checkInvite(scope *management.Scope) error {
	meta, err := management.MetaOfOrganization(scope.Organization)
	if err == nil && meta.NoMemberInvites && !scope.IsAdmin() {
		err = management.Denied(management.MsgNoPermission)
	}
	return err
}

// invite creates one invitation: it checks the rights of the caller, replaces earlier invitations
// of the address, and queues the mail or returns a link.
func (s Invites) invite(tx Tx, scope *management.Scope, site string, b management.Body) (*invite, error) {
	v, err := inviteFields.Create(b)
	if err != nil {
		return nil, err
	}
	invite := &storedInvite{Organization: scope.Organization.ID, CreatorID: scope.User.ID, inviteSettings: inviteSettings{
		ID: s.Env.NewID(), Email: v.Text("target_email"), FirstName: v.Text("first_name"),
		Level: management.Level(cmp.Or(v.Int("level"), int64(management.Member))), Created: management.NewStamp(s.Env.Now()),
	}}
	management.SetNull(v, "message", &invite.Message)
	if invite.Access, err = readGrants(v); err != nil {
		return nil, err
	}
	if err := s.checkAllowed(tx, scope, invite); err != nil {
		return nil, err
	}
	// Members are found by address, regardless of case.
	switch member, err := isMember(tx, invite.Organization, invite.Email); {
	case err != nil:
		return nil, err
	case member:
		return nil, errInviteMember("")
	}
	if err := s.replace(tx, invite, scope.Level, v.Bool("combine_pending_invites")); err != nil {
		return nil, err
	}
	if err := s.checkAllowed(tx, scope, invite); err != nil { // combined invitations may grant more
		return nil, err
	}
	// The number orders invitations that were created at the same time.
	if invite.Number, err = tx.Next(kindInvite); err != nil {
		return nil, err
	}
	// A secret is generated here only if its link is returned; mails generate their own.
	sendMail := !v.Has("send_email") || v.Bool("send_email")
	secret := ""
	if invite.Emailed = s.Mailer != nil && sendMail; !invite.Emailed {
		secret = invite.newSecret(false)
	}
	out, err := s.Add(&view{Tx: tx, Scope: scope}, invite)
	if err != nil {
		return nil, err
	}
	site = cmp.Or(s.SiteURL, site)
	if invite.Emailed {
		if err := s.countMail(tx, organizationMails(invite.Organization), inviterMails(scope.User.UUID)); err != nil {
			return nil, err
		}
		if err := s.queueInvite(tx, invite, site); err != nil {
			return nil, err
		}
	}
	if secret != "" {
		out.AcceptURL = inviteLink(site, invite.ID, secret)
	}
	return out, nil
}

// checkAllowed checks that the caller may grant the level and the access of an invitation.
func (s Invites) checkAllowed(tx Tx, scope *management.Scope, invite *storedInvite) error {
	if invite.Level > scope.Level {
		return management.Denied("You cannot invite a user with a higher permission level than your own.")
	}
	return checkGrants(tx, scope, invite.Access)
}

// isMember reports whether the user with an e-mail address is a member of an organization.
func isMember(tx Tx, organization, email string) (bool, error) {
	u, err := management.UserByEmail(tx, email)
	if err != nil || u == nil {
		return false, err
	}
	m, err := management.MembershipOf(tx, organization, u.UUID)
	return m != nil, err
}

// replace deletes the earlier invitations of the address, except valid ones of inviters above
// level, so that a member cannot cancel an invitation by an administrator. If combine is true, the
// new invitation gets the highest level and access of the valid invitations.
func (s Invites) replace(tx Tx, invite *storedInvite, level management.Level, combine bool) error {
	earlier, err := management.ListRecords[storedInvite](tx, management.Query{Kind: kindInvite, Other: invitesOf(invite.Organization, invite.Email)})
	if err != nil {
		return err
	}
	for i := range earlier.Results {
		old := &earlier.Results[i]
		creatorLevel, err := inviterLevel(tx, old)
		if err != nil {
			return err
		}
		if combine && !old.isExpired(s.Env.Now()) && creatorLevel >= old.Level {
			invite.Level = max(invite.Level, old.Level)
			invite.Access = joinGrants(invite.Access, old.Access)
		}
		// An inviter of a higher level has invited the same person: that invitation stays.
		if creatorLevel > level && !old.isExpired(s.Env.Now()) {
			continue
		}
		if err := deleteInvite(tx, old); err != nil {
			return err
		}
	}
	return nil
}

// deleteInvite deletes an invitation and its mail, if that is still in the outbox.
func deleteInvite(tx Tx, invite *storedInvite) error {
	// The mail of an invitation has the invitation's id.
	if err := tx.Delete(kindMail, "", invite.ID); err != nil {
		return err
	}
	return tx.Delete(kindInvite, invite.Organization, invite.ID)
}

// inviteByID returns an invitation of any organization, or nil if it does not exist.
func inviteByID(tx Tx, id string) (*storedInvite, error) {
	id, ok := management.NormalizeUUID(id)
	if !ok {
		return nil, nil
	}
	return management.Found[storedInvite](tx.Find(kindInvite, id))
}

// invitesIn returns the items of an array as bodies.
func invitesIn(b management.Body) []management.Body {
	out := make([]management.Body, len(b.Array))
	for i, raw := range b.Array {
		switch kind := management.JSONKind(raw); kind {
		case "dict":
			_ = json.Unmarshal(raw, &out[i].Members) // cannot fail: raw is a part of a decoded document
		case "list":
			out[i].IsArray = true
		default:
			out[i].Other = kind
		}
	}
	return out
}

// prefixItem prefixes the Field of an error with the index of an array's item (§2.1).
func prefixItem(err error, i int) error {
	var apiErr *management.Error
	if !errors.As(err, &apiErr) || apiErr.Field == "" {
		return err
	}
	prefixed := *apiErr
	prefixed.Field = fmt.Sprintf("__%d__%s", i, apiErr.Field)
	return &prefixed
}
