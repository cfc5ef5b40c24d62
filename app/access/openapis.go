package access

import (
	"context"
	"strings"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/dbtype"
	"eruptcloud/ent/openapi"
	"eruptcloud/ent/predicate"
	"eruptcloud/ent/user"
)

// OpenAPI is a program's way in: for its id and secret it gets a session of the linked user (erupt-wire 3.3).
type OpenAPI struct {
	ID      int64
	AppID   string // unique: es and 14 hexadecimal digits
	Name    string
	Minutes int // that a token lives
	// User is the linked user, with account and display name; zero: none, and it gets no token.
	User     int64
	Account  string
	UserName string
	Enabled  bool
	// Token says that a token was made that may still be good.
	Token   bool
	Created time.Time
	Updated time.Time
}

// OpenAPIs keeps the ways in of programs.
type OpenAPIs struct {
	db       *database.DB
	people   *people
	sessions *Sessions
	audit    *Audit
	// plain: another server reads the same table, so secrets stand in it as they are; else their hashes do.
	plain bool
	now   func() time.Time
}

// usualMinutes is how long a token lives where the row says nothing, and mostMinutes the longest: a year. Messages name it.
const (
	usualMinutes = 3600
	mostMinutes  = 527_040
)

// NewOpenAPI is a wish for a way in.
type NewOpenAPI struct {
	Name    string
	Account string // of the linked user
	Minutes int    // zero: 3600
	Enabled bool
	By      Actor
}

// OpenAPIPatch says what to change; nil leaves a thing as it is.
type OpenAPIPatch struct {
	Name, Account *string
	Minutes       *int
	Enabled       *bool
	By            Actor
}

// OpenAPIFilter selects for a list; empty fields select all.
type OpenAPIFilter struct {
	Query          string // part of id, name or account, in any case
	Page, PageSize int    // from 1; 20 a page unless said, 500 at most
}

func noOpenAPI(appid string) *fault.Error {
	return fault.New(fault.NotFound, "no open API has the id %q", appid)
}

// List returns one page, by name, and how many there are in all.
func (o *OpenAPIs) List(ctx context.Context, f OpenAPIFilter) ([]OpenAPI, int, error) {
	var where []predicate.OpenAPI
	if text := strings.TrimSpace(f.Query); text != "" {
		where = append(where, openapi.Or(openapi.AppidContainsFold(text), openapi.NameContainsFold(text),
			openapi.HasUserWith(user.Or(user.AccountContainsFold(text), user.NameContainsFold(text)))))
	}
	total, err := o.db.Client.OpenAPI.Query().Where(where...).Count(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	offset, limit := pageOf(f.Page, f.PageSize)
	rows, err := o.db.Client.OpenAPI.Query().Where(where...).WithUser().Order(openapi.ByName(), openapi.ByID()).Offset(offset).Limit(limit).All(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	found := make([]OpenAPI, 0, len(rows))
	for _, r := range rows {
		found = append(found, openAPIOf(r))
	}
	return found, total, nil
}

// ByAppID returns a way in. fault.NotFound if there is none.
func (o *OpenAPIs) ByAppID(ctx context.Context, appid string) (OpenAPI, error) {
	row, err := o.row(ctx, appid)
	if err != nil {
		return OpenAPI{}, err
	}
	return openAPIOf(row), nil
}

// row returns the oldest row of an id, which no index keeps unique in an adopted database.
func (o *OpenAPIs) row(ctx context.Context, appid string) (*ent.OpenAPI, error) {
	row, err := o.db.Client.OpenAPI.Query().Where(openapi.Appid(appid), openapi.AppidNEQ("")).WithUser().Order(openapi.ByID()).First(ctx)
	if err != nil {
		return nil, database.Mapped(err, noOpenAPI(appid), nil)
	}
	return row, nil
}

// Create makes a way in and returns its secret, which nobody can ask for again. fault.Invalid with Fields, fault.Forbidden
// unless By may act as the linked user.
func (o *OpenAPIs) Create(ctx context.Context, n NewOpenAPI) (OpenAPI, string, error) {
	if n.Minutes == 0 {
		n.Minutes = usualMinutes
	}
	if err := orNil(openAPIFault(nil, &n.Name, &n.Minutes)); err != nil {
		return OpenAPI{}, "", err
	}
	as, err := o.linkable(ctx, n.By, n.Account)
	if err != nil {
		return OpenAPI{}, "", err
	}
	secret, appid, now := newSecret(), "es"+randomText("0123456789abcdef", 14), o.now()
	err = o.db.Client.OpenAPI.Create().SetAppid(appid).SetName(n.Name).SetExpire(n.Minutes).SetEruptUserID(as.ID).
		SetStatus(dbtype.Flag(n.Enabled)).SetSecret(o.kept(secret)).SetCreateBy(n.By.Account).SetUpdateBy(n.By.Account).
		SetCreateTime(now).SetUpdateTime(now).Exec(ctx)
	if err != nil {
		return OpenAPI{}, "", database.Mapped(err, nil, nil)
	}
	made, err := o.ByAppID(ctx, appid)
	return made, secret, err
}

// Update changes a way in. One that is disabled, or linked to another user, loses its token at once; one that is linked anew loses
// its secret too, and opens nothing before NewSecret. fault.Forbidden unless By may act as the linked user, before and after.
func (o *OpenAPIs) Update(ctx context.Context, appid string, p OpenAPIPatch) (OpenAPI, error) {
	if err := orNil(openAPIFault(nil, p.Name, p.Minutes)); err != nil {
		return OpenAPI{}, err
	}
	row, err := o.row(ctx, appid)
	if err != nil {
		return OpenAPI{}, err
	}
	if err := o.mayManage(ctx, p.By, row); err != nil {
		return OpenAPI{}, err
	}
	before := openAPIOf(row)
	change := o.db.Client.OpenAPI.Update().Where(openapi.ID(row.ID)).SetUpdateBy(p.By.Account).SetUpdateTime(o.now())
	setPatch(p.Name, change.SetName)
	if p.Minutes != nil {
		change.SetExpire(*p.Minutes)
	}
	ends := p.Enabled != nil && !*p.Enabled
	if p.Enabled != nil {
		change.SetStatus(dbtype.Flag(*p.Enabled))
	}
	if before.Enabled { // By answers for it from now on, and one that counts no more is not to come back by a change of its name
		if ok, err := o.stands(ctx, row, true); err != nil {
			return OpenAPI{}, err
		} else if !ok {
			change.SetStatus(false)
			ends = true
		}
	}
	if p.Account != nil && (*p.Account != before.Account || before.User == 0) {
		as, err := o.linkable(ctx, p.By, *p.Account)
		if err != nil {
			return OpenAPI{}, err
		}
		// Whoever knows the secret was let act as the other user, not as this one.
		change.SetEruptUserID(as.ID).SetSecret(o.kept(newSecret()))
		ends = true
	}
	if err := change.Exec(ctx); err != nil {
		return OpenAPI{}, database.Mapped(err, nil, nil)
	}
	if ends {
		if err := o.end(ctx, row); err != nil {
			return OpenAPI{}, err
		}
	}
	return o.ByAppID(ctx, appid)
}

// NewSecret replaces the secret, ends the token, and returns the new secret, which nobody can ask for again. fault.Forbidden
// unless by may act as the linked user.
func (o *OpenAPIs) NewSecret(ctx context.Context, appid string, by Actor) (string, error) {
	row, err := o.row(ctx, appid)
	if err != nil {
		return "", err
	}
	if err := o.mayManage(ctx, by, row); err != nil {
		return "", err
	}
	secret := newSecret()
	err = o.db.Client.OpenAPI.Update().Where(openapi.ID(row.ID)).SetSecret(o.kept(secret)).SetUpdateBy(by.Account).
		SetUpdateTime(o.now()).Exec(ctx)
	if err != nil {
		return "", database.Mapped(err, nil, nil)
	}
	return secret, o.end(ctx, row)
}

// Delete removes a way in and ends its token. fault.Forbidden unless by may act as the linked user.
func (o *OpenAPIs) Delete(ctx context.Context, appid string, by Actor) error {
	row, err := o.row(ctx, appid)
	if err != nil {
		return err
	}
	if err := o.mayManage(ctx, by, row); err != nil {
		return err
	}
	if _, err := o.db.Client.OpenAPI.Delete().Where(openapi.ID(row.ID)).Exec(ctx); err != nil {
		return database.Mapped(err, nil, nil)
	}
	return o.endToken(ctx, row)
}

// linkable returns the user to link. fault.Invalid if there is none, fault.Forbidden if by must not act as that user.
func (o *OpenAPIs) linkable(ctx context.Context, by Actor, account string) (User, error) {
	if account == "" {
		return User{}, fieldFault(nil, "account", "is needed")
	}
	row, err := theUser(ctx, o.db.Client.User.Query(), account)
	if ent.IsNotFound(err) {
		const format = "there is no user %q"
		return User{}, fault.New(fault.Invalid, format, account).Field("account", format, account)
	} else if err != nil {
		return User{}, database.Mapped(err, nil, nil)
	}
	as := userOf(row)
	return as, o.mayActAs(ctx, by, as)
}

// mayManage refuses changes of a way in whose user holds more than by does: who can have its secret can be that user.
func (o *OpenAPIs) mayManage(ctx context.Context, by Actor, row *ent.OpenAPI) error {
	if row.Edges.User == nil {
		return nil
	}
	return o.mayActAs(ctx, by, userOf(row.Edges.User))
}

func (o *OpenAPIs) mayActAs(ctx context.Context, by Actor, as User) error {
	more := as.Admin && !by.Admin
	if !more {
		var err error
		if more, err = o.people.holdsMore(ctx, as, by); err != nil {
			return err
		}
	}
	if !more {
		return nil
	}
	const format = "%s holds more than you do; only somebody who holds as much can let a program act as that account"
	return fault.New(fault.Forbidden, format, as.Account).Field("account", format, as.Account)
}

func openAPIFault(wrong *fault.Error, name *string, minutes *int) *fault.Error {
	if name != nil {
		wrong = nameFault(wrong, *name)
	}
	if minutes != nil && (*minutes < 1 || *minutes > mostMinutes) {
		wrong = fieldFault(wrong, "minutes", "is a whole number from 1 to 527040")
	}
	return wrong
}

func openAPIOf(r *ent.OpenAPI) OpenAPI {
	o := OpenAPI{
		ID: r.ID, AppID: r.Appid, Name: orText(r.Name, r.Appid), Minutes: orZero(r.Expire), User: orZero(r.EruptUserID), Enabled: bool(r.Status),
		Token: r.CurrentToken != "", Created: orZero(r.CreateTime), Updated: orZero(r.UpdateTime),
	}
	if o.Minutes <= 0 {
		o.Minutes = usualMinutes
	}
	if u := r.Edges.User; u != nil {
		o.Account, o.UserName = u.Account, displayName(u)
	}
	return o
}
