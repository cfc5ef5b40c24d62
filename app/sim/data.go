package sim

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"eruptcloud/nodeagent"
)

// How many rows the demo has; about 500 in all.
const (
	customerCount = 160
	visitCount    = 40
	productCount  = 48
	orderCount    = 120
	stockCount    = 80
)

// shop is the data of the demo. The two instances of crm share it, and orders and warehouse look into parts of it, as if all had
// one database behind them.
type shop struct {
	regions, customers, visits *nodeagent.MemSource
	products, orders           *nodeagent.MemSource
	places, stock              *nodeagent.MemSource
	creditLimit                atomic.Int64 // from the configuration of crm
	nextCode                   atomic.Int64
}

// newShop makes the data of a seed.
func newShop(seed uint64) *shop {
	r := rand.New(rand.NewPCG(seed, 0x5eed)) //nolint:gosec // a play, not a secret
	s := &shop{}
	s.creditLimit.Store(50_000)
	s.nextCode.Store(customerCount)
	regions, leaves := makeRegions()
	s.regions = nodeagent.NewMemSource(regions...)
	s.customers = nodeagent.NewMemSource(makeCustomers(r, leaves)...)
	s.visits = nodeagent.NewMemSource(makeVisits(r)...)
	products := makeProducts(r)
	s.products = nodeagent.NewMemSource(products...)
	s.orders = nodeagent.NewMemSource(makeOrders(r, products)...)
	places, shelves := makePlaces()
	s.places = nodeagent.NewMemSource(places...)
	s.stock = nodeagent.NewMemSource(makeStock(r, shelves)...)
	return s
}

// anchor is the day that all dates of the demo are counted back from: fixed, so that the same seed gives the same rows.
var anchor = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)

func day(back int) string { return anchor.AddDate(0, 0, -back).Format("2006-01-02") }

func moment(r *rand.Rand, maxBack int) string {
	t := anchor.AddDate(0, 0, -r.IntN(maxBack)).Add(time.Duration(8*60+r.IntN(10*60)) * time.Minute)
	return t.Format("2006-01-02T15:04:05.000")
}

type place struct {
	name  string
	below []string
}

var world = []place{
	{"华东 East China", []string{"上海 Shanghai", "杭州 Hangzhou", "苏州 Suzhou", "南京 Nanjing"}},
	{"华南 South China", []string{"广州 Guangzhou", "深圳 Shenzhen", "厦门 Xiamen"}},
	{"华北 North China", []string{"北京 Beijing", "天津 Tianjin", "青岛 Qingdao"}},
	{"Europe 欧洲", []string{"Berlin", "Zürich", "Milano"}},
}

func makeRegions() (rows []nodeagent.Row, leaves []int64) {
	id := int64(0)
	for i, p := range world {
		id++
		parent := id
		rows = append(rows, nodeagent.Row{"id": id, "name": p.name, "sort": int64(i + 1)})
		for j, name := range p.below {
			id++
			rows = append(rows, nodeagent.Row{"id": id, "name": name, "parent": parent, "sort": int64(j + 1)})
			leaves = append(leaves, id)
		}
	}
	return rows, leaves
}

var (
	chineseCity  = []string{"上海", "杭州", "深圳", "广州", "北京", "苏州", "青岛", "厦门"}
	chineseWord  = []string{"云帆", "明远", "天和", "盛达", "瑞丰", "长青", "海川", "德润", "知味", "东篱"}
	chineseKind  = []string{"贸易有限公司", "科技有限公司", "茶业", "百货", "食品有限公司", "餐饮管理有限公司"}
	westernWord  = []string{"Blue Door", "Maple", "Stella", "Corner", "Northwind", "Alpine", "Harbour", "Lakeside", "Old Mill", "Bergmann"}
	westernKind  = []string{"Foods Ltd", "GmbH", "Trading Co.", "S.r.l.", "AG", "Delicatessen", "& Sons"}
	familyName   = []string{"李", "王", "张", "刘", "陈", "杨", "赵", "黄", "周", "吴"}
	givenName    = []string{"雷", "梅", "静", "伟", "芳", "磊", "洋", "勇", "艳", "杰", "思远", "雨桐"}
	foreignNames = []string{"Anna Keller", "Luca Rossi", "Amy Turner", "Jonas Weber", "Giulia Bianchi", "Tom Harris"}
	customerTags = []string{"批发", "零售", "export", "online", "老客户", "月结"}
	remarks      = []string{"", "", "", "要求月底前开票 invoice before the end of the month", "联系人休假中", "Prefers e-mail", "合同待续签", "Pays late, see 对账单"}
)

func person(r *rand.Rand, western bool) string {
	if western || r.IntN(12) == 0 {
		return pick(r, foreignNames)
	}
	return pick(r, familyName) + pick(r, givenName)
}

func company(r *rand.Rand, western bool) string {
	if western {
		return pick(r, westernWord) + " " + pick(r, westernKind)
	}
	return pick(r, chineseCity) + pick(r, chineseWord) + pick(r, chineseKind)
}

func makeCustomers(r *rand.Rand, regions []int64) []nodeagent.Row {
	rows := make([]nodeagent.Row, customerCount)
	for i := range rows {
		at := r.IntN(len(regions))
		western := at >= len(regions)-len(world[len(world)-1].below) // the last part of the world
		row := nodeagent.Row{
			"code": fmt.Sprintf("C-%04d", i+1), "name": company(r, western),
			"region": regions[at], "level": pick(r, []string{"V", "G", "G", "N", "N", "N", "N"}), "contact": person(r, western),
			"phone": fmt.Sprintf("1%d%08d", 30+r.IntN(60), r.IntN(100_000_000)), "balance": float64(r.IntN(9_000_000)-600_000) / 100,
			"since": day(30 + r.IntN(2500)), "active": r.IntN(10) > 0, "rating": float64(r.IntN(11)) / 2, "visited": moment(r, 90),
		}
		for range r.IntN(4) {
			row["tags"] = addTag(row["tags"], pick(r, customerTags))
		}
		if note := pick(r, remarks); note != "" {
			row["note"] = note
		}
		if r.IntN(20) == 0 {
			row["level"], row["active"] = "B", false
		}
		rows[i] = row
	}
	return rows
}

func addTag(have any, tag string) []string {
	tags, _ := have.([]string)
	for _, t := range tags {
		if t == tag {
			return tags
		}
	}
	return append(tags, tag)
}

var visitTopics = []string{"年度合同 yearly contract", "投诉处理", "New product sample", "价格谈判", "Site visit", "催款"}

func makeVisits(r *rand.Rand) []nodeagent.Row {
	rows := make([]nodeagent.Row, visitCount)
	for i := range rows {
		rows[i] = nodeagent.Row{
			"customer": int64(1 + r.IntN(customerCount)), "topic": pick(r, visitTopics), "at": moment(r, 60), "by": person(r, false),
			"result": pick(r, []string{"open", "won", "lost", "later"}), "channels": []string{pick(r, []string{"visit", "phone", "wechat"})},
		}
	}
	return rows
}

type good struct {
	name, kind, unit string
	price            float64
}

var goods = []good{
	{"龙井茶 Longjing tea", "tea", "盒", 128}, {"Earl Grey", "tea", "box", 46.5}, {"普洱 Pu'er", "tea", "饼", 260}, {"茉莉花茶 Jasmine", "tea", "盒", 58},
	{"Espresso beans", "coffee", "kg", 168}, {"云南咖啡 Yunnan coffee", "coffee", "kg", 139}, {"Decaf", "coffee", "kg", 152},
	{"青花瓷杯 Porcelain cup", "ware", "件", 39.9}, {"Glass teapot", "ware", "件", 89}, {"保温杯 Thermos", "ware", "件", 75}, {"Hand grinder", "ware", "件", 215},
	{"黑巧克力 Dark chocolate", "food", "板", 22.8}, {"Panettone", "food", "个", 64}, {"核桃酥 Walnut cookies", "food", "盒", 36}, {"Olive oil 0.5 l", "food", "瓶", 72},
	{"蜂蜜 Honey", "food", "瓶", 45},
}

var sizes = []string{"", " (S)", " (L)", " 礼盒 gift box"}

func makeProducts(r *rand.Rand) []nodeagent.Row {
	rows := make([]nodeagent.Row, productCount)
	for i := range rows {
		g := goods[i%len(goods)]
		size := sizes[i/len(goods)%len(sizes)]
		rows[i] = nodeagent.Row{
			"id": int64(i + 1), "sku": fmt.Sprintf("P-%03d", i+1), "name": g.name + size, "kind": g.kind, "unit": g.unit,
			"price": float64(int(g.price*(1+float64(i/len(goods))*0.35)*100)) / 100, "sold": r.IntN(12) > 0,
			"color": pick(r, []string{"#2f80ed", "#27ae60", "#f2994a", "#9b51e0", "#eb5757"}), "popularity": float64(5 * r.IntN(21)),
		}
	}
	return rows
}

func makeOrders(r *rand.Rand, products []nodeagent.Row) []nodeagent.Row {
	rows := make([]nodeagent.Row, orderCount)
	for i := range rows {
		row := nodeagent.Row{
			"no": fmt.Sprintf("2026-%04d", i+1), "customer": int64(1 + r.IntN(customerCount)), "placed": moment(r, 120),
			"status": pick(r, []string{"new", "paid", "paid", "shipped", "shipped", "done", "done", "done", "cancelled"}), "urgency": float64(r.IntN(11)),
		}
		var items []nodeagent.Row
		for range 1 + r.IntN(4) {
			p := pick(r, products)
			items = append(items, nodeagent.Row{"product": p["id"], "count": int64(1 + r.IntN(12)), "price": p["price"]})
		}
		row["items"] = items
		row["total"] = total(items)
		rows[i] = row
	}
	return rows
}

// total is the price of an order, to the cent.
func total(items []nodeagent.Row) float64 {
	cents := int64(0)
	for _, item := range items {
		cents += int64(item.Float("price")*100+0.5) * item.Int("count")
	}
	return float64(cents) / 100
}

func makePlaces() (rows []nodeagent.Row, shelves []int64) {
	id := int64(0)
	add := func(name, kind string, parent int64) int64 {
		id++
		row := nodeagent.Row{"id": id, "name": name, "kind": kind, "capacity": int64(200)}
		if parent > 0 {
			row["parent"] = parent
		}
		rows = append(rows, row)
		return id
	}
	for _, house := range []string{"上海仓 Shanghai", "深圳仓 Shenzhen", "Berlin 柏林仓"} {
		h := add(house, "house", 0)
		for zone := 'A'; zone <= 'C'; zone++ {
			z := add(fmt.Sprintf("%c 区 zone", zone), "zone", h)
			for rack := 1; rack <= 3; rack++ {
				shelves = append(shelves, add(fmt.Sprintf("%c-%02d", zone, rack), "rack", z))
			}
		}
	}
	return rows, shelves
}

func makeStock(r *rand.Rand, shelves []int64) []nodeagent.Row {
	rows := make([]nodeagent.Row, stockCount)
	for i := range rows {
		rows[i] = nodeagent.Row{
			"place": pick(r, shelves), "product": int64(1 + r.IntN(productCount)), "quantity": int64(r.IntN(240)),
			"expires": day(-30 - r.IntN(700)), "counted": moment(r, 30), "locked": r.IntN(15) == 0,
		}
	}
	return rows
}
