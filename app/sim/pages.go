package sim

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"time"

	na "eruptcloud/nodeagent"
)

// pages returns what a node of the demo hosts.
func (s *shop) pages(node string) []na.Page {
	switch node {
	case "crm":
		return []na.Page{s.regionPage(), s.customerPage(), s.visitPage()}
	case "orders":
		return []na.Page{s.buyerPage(), s.productPage(nil), s.orderPage()}
	default:
		return []na.Page{s.productPage(na.ReadOnlyPower()), s.placePage(), s.stockPage()}
	}
}

// configured follows the node's configuration, and says so in its log.
func (s *shop) configured(node string, log *slog.Logger) func(context.Context, na.Document) {
	return func(_ context.Context, d na.Document) {
		var c struct{ CreditLimit int64 }
		if err := d.Decode(&c); err != nil {
			log.Warn("configuration ignored", "error", err)
			return
		}
		if node == "crm" && c.CreditLimit > 0 {
			s.creditLimit.Store(c.CreditLimit)
			log.Info("credit limit is set", "creditLimit", c.CreditLimit)
		}
	}
}

func (s *shop) regionPage() na.Page {
	return na.Page{
		Name: "Region", Title: "区域 Regions", Source: s.regions, Tree: &na.Tree{Parent: "parent"},
		Fields: []na.Field{
			na.Input("name", "名称 Name").Required().Length(60).Search(),
			na.ReferenceTree("parent", "上级 Parent", "Region"),
			na.Number("sort", "排序 Order").Between(0, 9999).Sortable(),
		},
	}
}

var (
	levels = []na.Option{
		{Value: "V", Label: "VIP", Color: "#9b51e0"}, {Value: "G", Label: "金牌 Gold", Color: "#f2994a"},
		{Value: "N", Label: "普通 Normal", Color: "#2f80ed"}, {Value: "B", Label: "黑名单 Blocked", Color: "#eb5757"},
	}
	phone = regexp.MustCompile(`[0-9+ -]{6,20}`)
)

func (s *shop) customerPage() na.Page {
	return na.Page{
		Name: "Customer", Title: "客户 Customers", Description: "客户档案。Everybody who buys from us.", Source: s.customers, LinkTree: "region",
		DefaultSort: []na.Order{{Field: "code"}},
		Fields: []na.Field{
			na.Input("code", "编号 Code").Unique().ReadOnlyOnEdit().Pattern(regexp.MustCompile(`C-\d{4,}`), "C- and at least four digits").
				Search(na.EQ).Sortable().Width("110px").Hint("留空则自动生成。Left empty, the node chooses one."),
			na.Input("name", "名称 Name").Required().Length(80).Search().Sortable(),
			na.ReferenceTree("region", "区域 Region", "Region").Required().Search(),
			na.Choice("level", "等级 Level", levels...).Required().Default("N").Search().Sortable(),
			na.Decimal("balance", "余额 Balance", 2).Between(-1e9, 1e9).Default(0).Search(na.RANGE).Sortable(),
			na.Tags("tags", "标签 Tags", customerTags...).Search(),
			na.Boolean("active", "启用 Active", "是 Yes", "否 No").Default(true).Search().Sortable(),
			na.Rate("rating", "评分 Rating", 5, true).Sortable(),
			na.Divide("contactPart", "联系人 Contact"),
			na.Input("contact", "联系人 Contact").Length(40).Search(),
			na.Input("phone", "电话 Phone").Pattern(phone, "digits, blanks and dashes").NoColumn(),
			na.Date("since", "建档日期 Since").Search().Sortable(),
			na.DateTime("visited", "最近拜访 Last visit").ReadOnly().Sortable(),
			na.Textarea("note", "备注 Note").Length(500).Search().NoColumn(),
			na.Input("changedBy", "修改人 Changed by").NoForm().HiddenColumn(),
			na.DateTime("changedAt", "修改时间 Changed at").NoForm().HiddenColumn().Sortable(),
		},
		Hooks: na.Hooks{
			BeforeAdd: func(ctx context.Context, row na.Row) error {
				if row.Text("code") == "" {
					row["code"] = s.freeCode(ctx)
				}
				return s.checkCustomer(ctx, row)
			},
			BeforeUpdate: func(ctx context.Context, _, row na.Row) error { return s.checkCustomer(ctx, row) },
			BeforeDelete: s.keepBuyers,
		},
		Export: &na.Export{Name: "客户 customers.csv", ContentType: "text/csv;charset=UTF-8", Write: csvOf(s.customers, "code", "name", "level", "balance", "contact", "phone", "since")},
	}
}

// freeCode returns the next code that nobody has typed in before.
func (s *shop) freeCode(ctx context.Context) string {
	for {
		code := fmt.Sprintf("C-%04d", s.nextCode.Add(1))
		if _, taken, _ := s.customers.Query(ctx, where("code", na.EQ, code)); taken == 0 {
			return code
		}
	}
}

func where(field string, op na.Operator, value any) na.Query {
	return na.Query{Conditions: []na.Condition{{Field: field, Operator: op, Value: value}}, Limit: 1}
}

// keepBuyers refuses to delete customers who have orders: those lie on another node, which crm cannot see by itself.
func (s *shop) keepBuyers(ctx context.Context, rows []na.Row) error {
	for _, row := range rows {
		if _, orders, _ := s.orders.Query(ctx, where("customer", na.EQ, row["id"])); orders > 0 {
			return na.Refuse("客户还有 %d 个订单 %s still has %d orders", orders, row.Text("name"), orders)
		}
	}
	return nil
}

// checkCustomer knows two rules of the house, and who changed the row.
func (s *shop) checkCustomer(ctx context.Context, row na.Row) error {
	limit := s.creditLimit.Load()
	switch {
	case row.Float("balance") < -float64(limit):
		return na.RefuseField("balance", "超出信用额度 beyond the credit limit of %d, which is set in the node's configuration", limit)
	case row.Text("level") == "B" && row.Bool("active"):
		return na.RefuseField("active", "黑名单客户不能启用 a blocked customer cannot be active")
	}
	stamp(ctx, row)
	return nil
}

// stamp notes who changed a row, and when.
func stamp(ctx context.Context, row na.Row) {
	if user, ok := na.UserFrom(ctx); ok {
		row["changedBy"] = user.Account
	}
	row["changedAt"] = time.Now()
}

func (s *shop) visitPage() na.Page {
	return na.Page{
		Name: "Visit", Title: "拜访记录 Visits", Source: s.visits, DefaultSort: []na.Order{{Field: "at", Descending: true}},
		Fields: []na.Field{
			na.ReferenceTable("customer", "客户 Customer", "Customer").Required().Search().Show("name", "客户 Customer").Show("level", "等级 Level"),
			na.Input("topic", "主题 Topic").Required().Length(80).Search(),
			na.DateTime("at", "时间 When").Required().Search().Sortable(),
			na.Input("by", "拜访人 By").Length(40).Search(),
			na.Choice("result", "结果 Result", na.Option{Value: "open", Label: "跟进中 open", Color: "#2f80ed"}, na.Option{Value: "won", Label: "成交 won", Color: "#27ae60"},
				na.Option{Value: "lost", Label: "失败 lost", Color: "#eb5757"}, na.Option{Value: "later", Label: "延后 later"}).Default("open").Search().Sortable(),
			na.MultiChoice("channels", "方式 Channels", na.Option{Value: "visit", Label: "上门 visit"}, na.Option{Value: "phone", Label: "电话 phone"}, na.Option{Value: "wechat", Label: "微信 WeChat"}),
			na.Markdown("minutes", "纪要 Minutes").NoColumn(),
		},
	}
}

// buyerPage shows the customers of crm to those who take orders.
func (s *shop) buyerPage() na.Page {
	return na.Page{
		Name: "Buyer", Title: "客户查询 Buyers", Description: "只读。The customers of CRM, to look at.", Source: s.customers, Power: na.ReadOnlyPower(),
		Fields: []na.Field{
			na.Input("name", "名称 Name").Search().Sortable(), na.Input("code", "编号 Code").Search(na.EQ).Sortable(),
			na.Choice("level", "等级 Level", levels...).Search(), na.Input("contact", "联系人 Contact").Search(),
		},
	}
}

func (s *shop) productPage(power *na.Power) na.Page {
	return na.Page{
		Name: "Product", Title: "商品 Products", Source: s.products, Power: power, DefaultSort: []na.Order{{Field: "sku"}},
		Fields: []na.Field{
			na.Input("sku", "货号 SKU").Required().Unique().ReadOnlyOnEdit().Length(20).Search(na.EQ).Sortable().Width("90px"),
			na.Input("name", "名称 Name").Required().Length(80).Search().Sortable(),
			na.Choice("kind", "类别 Kind", na.Option{Value: "tea", Label: "茶 tea", Color: "#27ae60"}, na.Option{Value: "coffee", Label: "咖啡 coffee", Color: "#8b5e3c"},
				na.Option{Value: "ware", Label: "器具 ware"}, na.Option{Value: "food", Label: "食品 food", Color: "#f2994a"}).Required().Search().Sortable(),
			na.Decimal("price", "单价 Price", 2).Required().Between(0.01, 100_000).Search(na.RANGE).Sortable(),
			na.Input("unit", "单位 Unit").Length(10),
			na.Boolean("sold", "在售 On sale", "在售 yes", "停售 no").Default(true).Search(),
			na.Slider("popularity", "热度 Popularity", 0, 100, 5).Sortable(),
			na.Color("color", "颜色 Colour"),
			na.Attachment("photo", "图片 Photo", na.Files{Images: true, MaxKB: 2048}),
			na.Code("attributes", "属性 Attributes", "json").NoColumn().Length(2000),
		},
	}
}

func (s *shop) orderPage() na.Page {
	item := na.Page{Name: "OrderItem", Title: "明细 Items", Fields: []na.Field{
		na.ReferenceTable("product", "商品 Product", "Product").Required().Show("name", "商品 Product").Show("unit", "单位 Unit"),
		na.Number("count", "数量 Count").Required().Between(1, 9999).Default(int64(1)),
		na.Decimal("price", "单价 Price", 2).Between(0, 100_000).Hint("留空则取商品单价。Left empty, the product's."),
	}}
	return na.Page{
		Name: "Order", Title: "订单 Orders", Source: s.orders, DefaultSort: []na.Order{{Field: "no", Descending: true}},
		Fields: []na.Field{
			na.Input("no", "单号 No").Required().Unique().ReadOnlyOnEdit().Length(20).Search().Sortable().Width("110px"),
			na.ReferenceTable("customer", "客户 Customer", "Buyer").Required().Search().Show("name", "客户 Customer").Show("level", "等级 Level"),
			na.Choice("status", "状态 Status", na.Option{Value: "new", Label: "新建 new", Color: "#2f80ed"}, na.Option{Value: "paid", Label: "已付 paid", Color: "#27ae60"},
				na.Option{Value: "shipped", Label: "已发货 shipped", Color: "#9b51e0"}, na.Option{Value: "done", Label: "完成 done"},
				na.Option{Value: "cancelled", Label: "取消 cancelled", Color: "#eb5757"}).Required().Default("new").Search().Sortable(),
			na.DateTime("placed", "下单时间 Placed").Required().Search().Sortable(),
			na.Decimal("total", "金额 Total", 2).ReadOnly().Search(na.RANGE).Sortable(),
			na.Slider("urgency", "紧急度 Urgency", 0, 10, 1).Default(3.0),
			na.Items("items", "明细 Items", item).Required(),
			na.Attachment("contract", "合同 Contract", na.Files{Extensions: []string{"pdf", "docx", "txt"}, MaxKB: 4096, Max: 3}).NoColumn(),
			na.Textarea("note", "备注 Note").Length(500).NoColumn(),
			na.Hidden("source"),
		},
		Hooks: na.Hooks{
			Init:         func(_ context.Context, row na.Row) error { row["placed"] = time.Now(); return nil },
			BeforeAdd:    s.priceOrder,
			BeforeUpdate: func(ctx context.Context, _, row na.Row) error { return s.priceOrder(ctx, row) },
			BeforeDelete: func(_ context.Context, rows []na.Row) error {
				for _, row := range rows {
					if row.Text("status") == "shipped" {
						return na.Refuse("已发货的订单不能删除 order %s is on its way and cannot be deleted", row.Text("no"))
					}
				}
				return nil
			},
		},
	}
}

// priceOrder fills in prices that were left empty, and adds up.
func (s *shop) priceOrder(ctx context.Context, row na.Row) error {
	for _, item := range row.Items("items") {
		if item["price"] != nil {
			continue
		}
		product, err := s.products.Find(ctx, item["product"])
		if err != nil {
			return fmt.Errorf("price of an item: %w", err)
		}
		item["price"] = product.Float("price")
	}
	row["total"] = total(row.Items("items"))
	return nil
}

func (s *shop) placePage() na.Page {
	return na.Page{
		Name: "Place", Title: "库位 Places", Source: s.places, Tree: &na.Tree{Parent: "parent"},
		Fields: []na.Field{
			na.Input("name", "名称 Name").Required().Length(60).Search(),
			na.ReferenceTree("parent", "上级 Within", "Place"),
			na.Choice("kind", "类型 Kind", na.Option{Value: "house", Label: "仓库 warehouse"}, na.Option{Value: "zone", Label: "库区 zone"}, na.Option{Value: "rack", Label: "货架 rack"}).Required().Default("rack").Search(),
			na.Number("capacity", "容量 Capacity").Between(0, 100_000).Sortable(),
		},
	}
}

func (s *shop) stockPage() na.Page {
	return na.Page{
		Name: "Stock", Title: "库存 Stock", Source: s.stock, LinkTree: "place",
		Fields: []na.Field{
			na.ReferenceTable("product", "商品 Product", "Product").Required().Search().Show("name", "商品 Product").Show("sku", "货号 SKU"),
			na.ReferenceTree("place", "库位 Place", "Place").Required().Search(),
			na.Number("quantity", "数量 Quantity").Required().Between(0, 1_000_000).Search(na.RANGE).Sortable(),
			na.Date("expires", "有效期 Best before").Search().Sortable(),
			na.DateTime("counted", "盘点时间 Counted").Sortable(),
			na.Boolean("locked", "冻结 Locked", "冻结 locked", "可用 free").Default(false).Search(),
			na.Password("seal", "封签码 Seal code").Length(40).NoColumn(),
		},
	}
}

// csvOf writes columns of a source as CSV. A cell that a spreadsheet would calculate is made text; numbers are left alone.
func csvOf(source *na.MemSource, columns ...string) func(context.Context, na.Query, io.Writer) error {
	return func(ctx context.Context, q na.Query, w io.Writer) error {
		rows, _, err := source.Query(ctx, q)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if _, err := io.WriteString(w, "\uFEFF"); err != nil { // spreadsheets take it for UTF-8 then
			return fmt.Errorf("export: %w", err)
		}
		out := csv.NewWriter(w)
		_ = out.Write(columns) // errors come back from Flush
		for _, row := range rows {
			cells := make([]string, len(columns))
			for i, c := range columns {
				cells[i] = cell(row[c])
			}
			_ = out.Write(cells)
		}
		out.Flush()
		if err := out.Error(); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		return nil
	}
}

func cell(v any) string {
	text, isText := v.(string)
	if isText && text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	if v == nil {
		return ""
	}
	if n, ok := v.(float64); ok {
		return fmt.Sprintf("%.2f", n)
	}
	return fmt.Sprint(v)
}
