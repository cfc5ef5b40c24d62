package eruptapi_test

import (
	"context"
	"crypto/md5" //nolint:gosec // what old installations hold
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/database"
	"eruptcloud/app/eruptapi"
	"eruptcloud/app/testbed"
	"eruptcloud/app/web"
	"eruptcloud/ent"
	"eruptcloud/ent/role"
	"eruptcloud/ent/user"
)

// stage is a server with the accounts of the recordings.
type stage struct {
	t       *testing.T
	db      *database.DB
	access  *access.Access
	vault   *openVault
	handler func(r *recorded) *httptest.ResponseRecorder
	tokens  map[string]string // recorded → ours
}

// openVault lets a test read the captcha that somebody was shown.
type openVault struct {
	access.Vault
	captcha string
}

func (v *openVault) Put(ctx context.Context, key, value string, ttl time.Duration) error {
	if strings.HasPrefix(key, "verify-code:") {
		v.captcha = value
	}
	return v.Vault.Put(ctx, key, value, ttl)
}

func newStage(t *testing.T, dialect string) *stage {
	t.Helper()
	s := &stage{t: t, db: testbed.SQLite(t), vault: &openVault{Vault: access.NewMemoryVault()}, tokens: map[string]string{}}
	s.access = access.New(access.Options{
		DB: s.db, Adopted: true, Vault: s.vault, CaptchaAfter: 2, PwdTransferEncrypt: true, TTL: 100 * time.Minute,
		Lock: access.LockOptions{On: true}, MFA: access.MFAOptions{On: true, Window: 1},
	})
	s.people(dialect)
	shell, err := web.New(web.Options{
		Sessions: s.access.Sessions, CookieKeys: [][]byte{make([]byte, 32), make([]byte, 16)}, Logger: slog.New(slog.DiscardHandler),
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/32")}, // not the one that asks
	})
	if err != nil {
		t.Fatal(err)
	}
	api := eruptapi.New(eruptapi.Options{
		Login: s.access.Login, Digest: s.access.Login, Sessions: s.access.Sessions, Users: s.access.Users, Captcha: s.access.Captcha,
		MFA: s.access.MFA, Tokens: s.access.Tokens, TransferEncrypt: true, Version: "1.2.3", Fail: shell.Fail,
		App: eruptapi.App{WaterMark: true, ResetPwd: true, CaptchaAfter: 2, MFA: true, Locales: strings.Split("en-US,fr-FR,de-DE,zh-CN,zh-TW,ja-JP,ko-KR,ru-RU,es-ES,pt-PT,id-ID,ar-SA", ",")},
	})
	shell.Engine().Any("/erupt-api/*path", gin.WrapH(api))
	s.handler = func(r *recorded) *httptest.ResponseRecorder {
		method, target, _ := strings.Cut(r.Do, " ")
		req := httptest.NewRequest(method, target, strings.NewReader(r.Body))
		req.RemoteAddr, req.Host = "127.0.0.1:5000", "127.0.0.1:19120" // that of the recorded Origin
		for name, value := range r.With {
			req.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		shell.Handler().ServeHTTP(w, req)
		return w
	}
	return s
}

func md5Of(s string) string {
	sum := md5.Sum([]byte(s)) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

func sha512Of(s string) string {
	sum := sha512.Sum512([]byte(s))
	return hex.EncodeToString(sum[:])
}

// people hires those of the recordings, whose passwords are kept as they were there.
func (s *stage) people(dialect string) {
	ctx := s.t.Context()
	const salt = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	make := func(account, password, form, salt string, hashed bool, more ...func(*ent.UserCreate)) {
		c := s.db.Client.User.Create().SetAccount(account).SetName(account).SetStatus(true).SetPassword(password)
		if form != "" {
			c.SetEncryptType(form)
		}
		if salt != "" {
			c.SetSalt(salt)
		}
		one := c.SetIsMd5(false)
		if hashed {
			one = c.SetIsMd5(true)
		}
		for _, m := range more {
			m(one)
		}
		one.ExecX(ctx)
	}
	if dialect == "1.12" {
		make("erupt", md5Of("erupt"), "", "", true, func(c *ent.UserCreate) { c.SetIsAdmin(true) })
		role := s.db.Client.Role.Create().SetCode("clerk").SetName("Clerk").SaveX(ctx)
		make("lin", md5Of("secret-1"), "", "", true, func(c *ent.UserCreate) { c.SetName("Lin Yu").AddRoles(role) })
		return
	}
	make("erupt", sha512Of("erupt"+salt), "SHA512", salt, true, func(c *ent.UserCreate) { c.SetIsAdmin(true) })
	org := s.db.Client.Org.Create().SetCode("D-01").SaveX(ctx)
	post := s.db.Client.Post.Create().SetCode("ENG").SaveX(ctx)
	s.menus()
	sales := s.db.Client.Role.Create().SetCode("sales").SaveX(ctx)
	off := s.db.Client.Role.Create().SetCode("off").SetStatus(false).SaveX(ctx)
	make("lin", md5Of("geheim+ü %"), "", "", true, func(c *ent.UserCreate) {
		c.SetName("Lin Yu").SetOrg(org).SetPost(post).AddRoles(sales, off)
	})
	make("plain", "klartext", "", "", false)
	make("nullmd5", "klartext", "", "", false)
	s.db.Client.User.Update().Where(user.Account("nullmd5")).ClearIsMd5().ExecX(ctx)
	make("locked", "klartext", "", "", false, func(c *ent.UserCreate) { c.SetStatus(false) })
	make("expired", "klartext", "", "", false, func(c *ent.UserCreate) { c.SetExpireDate(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)) })
	make("white", "klartext", "", "", false, func(c *ent.UserCreate) { c.SetWhiteIP("10.0.0.1") })
	make("ipcidr", "klartext", "", "", false, func(c *ent.UserCreate) { c.SetWhiteIP("127.0.0.0/8") })
	make("sha", sha512Of("s3cret"+salt), "sha512", salt, true)
	make("shaupper", strings.ToUpper(sha512Of("s3cret"+salt)), "SHA512", salt, true)
	make("shanosalt", sha512Of("s3cret"), "SHA512", "", true, func(c *ent.UserCreate) { c.SetName("Shanosalt") })
	make("nullstatus", "klartext", "", "", false)
	s.db.Client.User.Update().Where(user.Account("nullstatus")).ClearStatus().ExecX(ctx)
}

// menus are those of the first start of a 2.0.4 server; statuses other than 1 hide one.
func (s *stage) menus() {
	raw, err := os.ReadFile("testdata/menus-2.0.json")
	if err != nil {
		s.t.Fatal(err)
	}
	var all []struct {
		ID                int64
		Code, Name        string
		Type, Value, Icon *string
		Status, Sort      int
		Parent            *int64
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		s.t.Fatal(err)
	}
	for _, m := range all {
		s.db.Client.Menu.Create().SetID(m.ID).SetCode(m.Code).SetName(m.Name).SetNillableType(m.Type).SetNillableValue(m.Value).SetNillableIcon(m.Icon).
			SetStatus(m.Status).SetSort(m.Sort).SetNillableParentMenuID(m.Parent).ExecX(s.t.Context())
	}
}

// sells gives the role sales its page, with EDIT and VIEW_DETAIL, as it was recorded after the first menus, and lin his home.
func (s *stage) sells() {
	ctx := s.t.Context()
	page := s.db.Client.Menu.Create().SetID(81).SetCode("Y8LYIbme").SetName("Products").SetType("table").SetValue("shop.Product").SetIcon("fa fa-cube").
		SetStatus(1).SetSort(100).SaveX(ctx)
	edit := s.db.Client.Menu.Create().SetID(83).SetCode("9IItaQiJ").SetName("EDIT").SetType("button").SetValue("shop.Product@EDIT").
		SetStatus(1).SetSort(20).SetParent(page).SaveX(ctx)
	detail := s.db.Client.Menu.Create().SetID(87).SetCode("N8HgNs5r").SetName("DETAIL").SetType("button").SetValue("shop.Product@VIEW_DETAIL").
		SetStatus(1).SetSort(40).SetParent(page).SaveX(ctx)
	s.db.Client.Role.Update().Where(role.Code("sales")).AddMenus(page, edit, detail).ExecX(ctx)
	s.db.Client.User.Update().Where(user.Account("lin")).SetEruptMenuID(page.ID).ExecX(ctx)
}
