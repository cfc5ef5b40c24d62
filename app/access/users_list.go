package access

import (
	"context"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"eruptcloud/app/database"
	"eruptcloud/ent"
	"eruptcloud/ent/loginlog"
	"eruptcloud/ent/post"
	"eruptcloud/ent/predicate"
	"eruptcloud/ent/role"
	"eruptcloud/ent/user"
)

// UserState is what an account is at the moment, as lists filter for it.
type UserState string

// The states of accounts. Those of one account may be several; empty is any.
const (
	UserActive     UserState = "active"   // may log in
	UserLocked     UserState = "locked"   // disabled by somebody
	UserExpired    UserState = "expired"  // its time is over
	UserAdmin      UserState = "admin"    // holds everything
	UserFirstLogin UserState = "password" // has to choose a password of its own
	UserShared     UserState = "shared"   // other rows have the account too; shown, not filtered for
)

// UserStates lists the states in the order in which lists show them.
var UserStates = []UserState{UserActive, UserLocked, UserExpired, UserAdmin, UserFirstLogin}

// UserOrder is how a list of users is sorted; empty is by account.
type UserOrder string

// The orders of users; accounts break ties.
const (
	ByName    UserOrder = "name"
	ByCreated UserOrder = "created" // the newest first
	ByExpiry  UserOrder = "expires" // the next to expire first, those that never do last
)

// UserFilter selects users for a list; empty fields select all.
type UserFilter struct {
	Query          string // part of account, name, phone or email, in any case
	State          UserState
	Role           string   // code
	Org            string   // code: those in it or in one below it
	Post           string   // code
	Among          []string // accounts; nil: all
	Order          UserOrder
	Page, PageSize int // from 1; 20 a page unless said, 500 at most
}

// List returns one page of users, and how many there are in all.
func (u *Users) List(ctx context.Context, f UserFilter) ([]User, int, error) {
	where, err := u.whereAll(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	total, err := u.db.Client.User.Query().Where(where...).Count(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	offset, limit := pageOf(f.Page, f.PageSize)
	rows, err := u.db.Client.User.Query().Where(where...).WithRoles().WithOrg().WithPost().Order(orderOf(f.Order)...).Offset(offset).Limit(limit).All(ctx)
	if err != nil {
		return nil, 0, database.Mapped(err, nil, nil)
	}
	found := make([]User, 0, len(rows))
	for _, r := range rows {
		found = append(found, userOf(r))
	}
	return found, total, u.markShared(ctx, found)
}

// Counts returns how many users of a filter, its state aside, are in each state.
func (u *Users) Counts(ctx context.Context, f UserFilter) (map[UserState]int, error) {
	out := make(map[UserState]int, len(UserStates))
	for _, s := range UserStates {
		f.State = s
		where, err := u.whereAll(ctx, f)
		if err != nil {
			return nil, err
		}
		n, err := u.db.Client.User.Query().Where(where...).Count(ctx)
		if err != nil {
			return nil, database.Mapped(err, nil, nil)
		}
		out[s] = n
	}
	return out, nil
}

func (u *Users) where(f UserFilter) []predicate.User {
	var where []predicate.User
	if text := strings.TrimSpace(f.Query); text != "" {
		where = append(where, user.Or(user.AccountContainsFold(text), user.NameContainsFold(text), user.PhoneContainsFold(text),
			user.EmailContainsFold(text)))
	}
	if f.Role != "" {
		where = append(where, user.HasRolesWith(role.Code(f.Role)))
	}
	if f.Post != "" {
		where = append(where, user.HasPostWith(post.Code(f.Post)))
	}
	if f.Among != nil {
		where = append(where, user.AccountIn(f.Among...))
	}
	switch f.State {
	case UserActive:
		where = append(where, user.Status(true), user.Or(user.ExpireDateIsNil(), user.ExpireDateGT(u.now())))
	case UserLocked:
		where = append(where, user.Or(user.StatusIsNil(), user.Status(false)))
	case UserExpired:
		where = append(where, user.ExpireDateNotNil(), user.ExpireDateLTE(u.now()))
	case UserAdmin:
		where = append(where, user.IsAdmin(true))
	case UserFirstLogin:
		where = append(where, user.ResetPwdTimeIsNil())
	}
	return where
}

func orderOf(o UserOrder) []user.OrderOption {
	last := []user.OrderOption{user.ByAccount(), user.ByID()}
	switch o {
	case ByName:
		return append([]user.OrderOption{user.ByName()}, last...)
	case ByCreated:
		return append([]user.OrderOption{user.ByCreateTime(sql.OrderDesc())}, last...)
	case ByExpiry:
		never := func(s *sql.Selector) { s.OrderExpr(sql.ExprP(s.C(user.FieldExpireDate) + " IS NULL")) }
		return append([]user.OrderOption{never, user.ByExpireDate()}, last...)
	}
	return last
}

// States returns in which states a user is now.
func (u User) States(now time.Time) []UserState {
	var out []UserState
	expired := !u.ExpiresAt.IsZero() && !u.ExpiresAt.After(now)
	switch {
	case !u.Enabled, u.Account == "": // which a database of erupt's may hold
		out = append(out, UserLocked)
	case u.Shared:
		out = append(out, UserShared)
	case !expired:
		out = append(out, UserActive)
	}
	if expired {
		out = append(out, UserExpired)
	}
	if u.Admin {
		out = append(out, UserAdmin)
	}
	if u.PasswordSet.IsZero() {
		out = append(out, UserFirstLogin)
	}
	return out
}

// recentLogins is how far back LastLogins looks: the login log has no index by user.
const recentLogins = 50_000

// LastLogins returns when users logged in for the last time, by account, as far as the last 50,000 logins tell. The login log
// knows display names only, as erupt writes it: users who share theirs with somebody are left out rather than guessed.
func (u *Users) LastLogins(ctx context.Context, users []User) (map[string]time.Time, error) {
	byName := map[string]string{}
	names := make([]string, 0, len(users))
	for _, one := range users {
		name := shorten(one.Name, 255)
		byName[name] = one.Account
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, nil
	}
	shared, err := u.sharedNames(ctx, names)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return shared[n] })
	since, err := u.db.Client.LoginLog.Query().Where(loginlog.LoginTimeNotNil()).Order(loginlog.ByLoginTime(sql.OrderDesc())).
		Offset(recentLogins).First(ctx)
	where := []predicate.LoginLog{loginlog.UserNameIn(names...), loginlog.LoginTimeNotNil()}
	if err == nil {
		where = append(where, loginlog.LoginTimeGT(orZero(since.LoginTime)))
	} else if !ent.IsNotFound(err) {
		return nil, database.Mapped(err, nil, nil)
	}
	var rows []struct {
		Name string `json:"user_name"`
		ID   int64  `json:"last"`
	}
	err = u.db.Client.LoginLog.Query().Where(where...).GroupBy(loginlog.FieldUserName).
		Aggregate(ent.As(ent.Max(loginlog.FieldID), "last")).Scan(ctx, &rows)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	ids := make([]int64, 0, len(rows))
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	last, err := u.db.Client.LoginLog.Query().Where(loginlog.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	out := make(map[string]time.Time, len(last))
	for _, l := range last {
		out[byName[l.UserName]] = orZero(l.LoginTime)
	}
	return out, nil
}

// sharedNames finds those of names that several accounts display.
func (u *Users) sharedNames(ctx context.Context, names []string) (map[string]bool, error) {
	rows, err := u.db.Client.User.Query().Where(user.Or(user.NameIn(names...), user.AccountIn(names...))).
		Select(user.FieldAccount, user.FieldName).All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	count, out := map[string]int{}, map[string]bool{}
	for _, r := range rows {
		name := shorten(displayName(r), 255)
		if count[name]++; count[name] > 1 {
			out[name] = true
		}
	}
	return out, nil
}

// NewPassword returns a password to give to somebody: 20 characters that are told apart when read aloud.
func NewPassword() string { return randomText(legible, 20) }

// CountByRole returns how many users have each role, by its code.
func (u *Users) CountByRole(ctx context.Context) (map[string]int, error) {
	var rows []struct {
		Code  string `json:"code"`
		Users int    `json:"users"`
	}
	err := u.db.Client.Role.Query().GroupBy(role.FieldCode).Aggregate(func(s *sql.Selector) string {
		has := sql.Table(role.UsersTable)
		s.LeftJoin(has).On(s.C(role.FieldID), has.C(role.UsersPrimaryKey[1]))
		return sql.As(sql.Count(has.C(role.UsersPrimaryKey[0])), "users")
	}).Scan(ctx, &rows)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	out := make(map[string]int, len(rows))
	for _, r := range rows {
		out[r.Code] = r.Users
	}
	return out, nil
}
