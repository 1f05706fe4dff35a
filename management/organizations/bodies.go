package organizations

import "github.com/bunting-flags/bunting/management"

// Bodies are the fields of the bodies of requests.
var Bodies = struct {
	Acceptance, Account, Authorization, Domain, EventName, GroupType, Invite, Key, Link, Member, NewProject, Organization, Passkey, PasskeyName,
	Poll, Program, Project, ProjectMove, PropertyName, Role, RoleMember, SignIn, UserCode management.Fields
}{
	Acceptance: acceptFields, Account: accountFields, Authorization: authorizeFields, Domain: domainFields, EventName: detailFields, GroupType: groupTypeFields, Invite: inviteFields,
	Key: keyFields, Link: linkFields, Member: memberFields, NewProject: newProjectFields, Organization: organizationFields,
	Passkey: passkeyFields, PasskeyName: passkeyFields[:1], Poll: pollFields, Program: programFields, Project: projectFields,
	ProjectMove: moveFields, PropertyName: propertyDetailFields, Role: roleFields, RoleMember: roleMemberFields, SignIn: signInFields, UserCode: userCodeFields,
}
