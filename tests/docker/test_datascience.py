"""Data work as agents write it, in the profile `datascience`: right results, figures and files.

What is expected was computed by hand or is well known (Anscombe's quartet, Fisher's irises, the primes below
100,000), not taken from what the scripts printed.
"""

import json

import pytest
from sandbox import Server, py
from science_box import binary_file, check_figures, numbers_of, png, png_size, text_file, workbook, works

pytestmark = pytest.mark.timeout(300, func_only=True)


@pytest.fixture(scope="module")
def science(engine, datascience_image, tmp_path_factory):
    config = tmp_path_factory.mktemp("config") / "config.json"
    profile = {"image": datascience_image, "memory": "1g", "cpus": 2, "preload": ["pandas"]}
    settings = {"profiles": {"datascience": profile}, "warm": 1, "queue_timeout": 60}
    config.write_text(json.dumps(settings))
    with Server("--config=%s" % config) as server:
        yield server


def test_csv_with_quotes_and_a_mark(science):
    rows = (
        '\ufeffRegion,Product,Units,"Price, EUR"\r\n'
        '"North, East","Coffee ""Crema""",3,4.50\r\n'
        'South,Tea,10,2.25\r\n'
        '"North, East",Tea,2,2.25\r\n'
        'South,"Cocoa\nwith milk",1,\r\n'
    )
    outcome = works(
        science,
        """
        import pandas as pd

        df = pd.read_csv("data/sales.csv", encoding="utf-8-sig")
        print(df.columns.tolist())
        print(df["Product"].tolist())
        df["Price, EUR"] = df["Price, EUR"].fillna(0)
        df["Revenue"] = df["Units"] * df["Price, EUR"]
        summary = df.groupby("Region", as_index=False)["Revenue"].sum().sort_values("Revenue", ascending=False)
        print(summary.to_string(index=False))
        summary.to_csv("outputs/summary.csv", index=False)
        """,
        """
        ['Region', 'Product', 'Units', 'Price, EUR']
        ['Coffee "Crema"', 'Tea', 'Tea', 'Cocoa\\nwith milk']
             Region  Revenue
              South     22.5
        North, East     18.0
        """,
        [text_file("data/sales.csv", rows)],
    )
    assert outcome.file("summary.csv") == b'Region,Revenue\nSouth,22.5\n"North, East",18.0\n'
    assert outcome.artifacts["summary.csv"]["size"] == 45


def test_excel_in_and_out(science):
    rows = [["Item", "Quarter", "Cost"], ["Rent", 1, 900], ["Rent", 2, 950], ["Power", 1, 120.5], ["Power", 2, 99.5]]
    outcome = works(
        science,
        """
        import pandas as pd

        costs = pd.read_excel("costs.xlsx", sheet_name="Costs")
        print(costs.dtypes.astype(str).to_dict())
        by_item = costs.groupby("Item")["Cost"].agg(["sum", "mean"]).reset_index()
        with pd.ExcelWriter("outputs/report.xlsx", engine="openpyxl") as writer:
            costs.to_excel(writer, sheet_name="Raw", index=False)
            by_item.to_excel(writer, sheet_name="Summary", index=False)
            sheet = writer.sheets["Summary"]
            sheet["B4"] = "=SUM(B2:B3)"
            for cell in sheet["B"][1:3]:
                cell.number_format = "#,##0.00"
        print(pd.read_excel("outputs/report.xlsx", sheet_name=None)["Summary"].to_string())
        """,
        """
        {'Item': 'str', 'Quarter': 'int64', 'Cost': 'float64'}
            Item   sum  mean
        0  Power   220   110
        1   Rent  1850   925
        """,
        [binary_file("costs.xlsx", workbook(rows))],
    )
    numbers = numbers_of(outcome.file("report.xlsx"), 2)
    assert numbers == {"B2": 220, "C2": 110, "B3": 1850, "C3": 925}


def test_groupby_and_pivot(science):
    works(
        science,
        """
        import pandas as pd

        df = pd.DataFrame({
            "month": ["Jan", "Jan", "Feb", "Feb", "Feb", "Jan"],
            "store": ["A", "B", "A", "B", "A", "A"],
            "sales": [100, 80, 120, 90, 60, 50],
        })
        stats = df.groupby("store").agg(total=("sales", "sum"), mean=("sales", "mean"), n=("sales", "size"))
        print(stats)
        pivot = df.pivot_table(index="month", columns="store", values="sales", aggfunc="sum", margins=True)
        print(pivot.loc[["Jan", "Feb", "All"]])
        df["share"] = df["sales"] / df.groupby("store")["sales"].transform("sum") * 100
        print(df.loc[df["store"] == "B", "share"].round(2).tolist())
        print(pd.crosstab(df["month"], df["store"]).loc["Jan"].to_dict())
        """,
        """
               total  mean  n
        store                
        A        330  82.5  4
        B        170  85.0  2
        store    A    B  All
        month               
        Jan    150   80  230
        Feb    180   90  270
        All    330  170  500
        [47.06, 52.94]
        {'A': 2, 'B': 1}
        """,
    )


def test_value_is_a_table_with_its_shape(science):
    """What the script prints itself is as everywhere."""
    outcome = works(
        science,
        """
        import pandas as pd

        df = pd.DataFrame({"city": ["Bern", "Rome", "Bern"], "temp": [18.5, 27.0, 21.5]})
        means = df.groupby("city").mean()
        print(means)
        means
        """,
        """
              temp
        city      
        Bern  20.0
        Rome  27.0
        """,
    )
    assert outcome.data["value"] == py(
        """
              temp
        city      
        Bern  20.0
        Rome  27.0

        [2 rows x 1 columns]
        """
    ).rstrip("\n")
    assert "[2 rows x 1 columns]" in outcome.result["content"][0]["text"]


def test_joins(science):
    customers = "id,name\n1,Ada\n2,Ben\n3,Cleo\n"
    orders = "order,customer,amount\n10,1,20\n11,1,5\n12,3,7.5\n13,9,1\n"
    works(
        science,
        """
        import pandas as pd

        customers = pd.read_csv("customers.csv")
        orders = pd.read_csv("orders.csv")
        merged = customers.merge(orders, left_on="id", right_on="customer", how="outer", indicator=True)
        print(merged["_merge"].value_counts().sort_index().to_dict())
        spent = (
            customers.merge(orders, left_on="id", right_on="customer", how="left")
            .groupby("name")["amount"].sum().sort_values(ascending=False)
        )
        print(spent.to_dict())
        no_orders = customers[~customers["id"].isin(orders["customer"])]
        print(no_orders["name"].tolist())
        left = pd.DataFrame({"t": pd.to_datetime(["2024-01-01 10:00", "2024-01-01 10:05"]), "price": [1.0, 2.0]})
        right = pd.DataFrame({"t": pd.to_datetime(["2024-01-01 10:04", "2024-01-01 10:09"])})
        print(pd.merge_asof(right, left, on="t")["price"].tolist())
        """,
        """
        {'left_only': 1, 'right_only': 1, 'both': 3}
        {'Ada': 25.0, 'Cleo': 7.5, 'Ben': 0.0}
        ['Ben']
        [1.0, 2.0]
        """,
        [text_file("customers.csv", customers), text_file("orders.csv", orders)],
    )


def test_time_series(science):
    works(
        science,
        """
        import numpy as np
        import pandas as pd

        idx = pd.date_range("2024-02-28", periods=72, freq="h")
        s = pd.Series(np.arange(72, dtype=float), index=idx)
        daily = s.resample("D").agg(["min", "mean", "max"])
        print(daily)
        print(s.resample("12h").sum().tolist())
        print(s.resample("ME").count().to_dict())
        print(s.rolling("3h").mean().iloc[-1], s.pct_change().iloc[2], s.diff(24).iloc[-1])
        local = s.tz_localize("UTC").tz_convert("America/New_York")
        print(local.index[0], local.resample("D").sum().iloc[0])
        gaps = s.iloc[[0, 3]].resample("h").interpolate()
        print(gaps.tolist())
        """,
        """
                     min  mean   max
        2024-02-28   0.0  11.5  23.0
        2024-02-29  24.0  35.5  47.0
        2024-03-01  48.0  59.5  71.0
        [66.0, 210.0, 354.0, 498.0, 642.0, 786.0]
        {Timestamp('2024-02-29 00:00:00'): 48, Timestamp('2024-03-31 00:00:00'): 24}
        70.0 1.0 24.0
        2024-02-27 19:00:00-05:00 10.0
        [0.0, 1.0, 2.0, 3.0]
        """,
    )


def test_regression(science):
    works(
        science,
        """
        import numpy as np
        import statsmodels.api as sm
        from scipy import stats
        from sklearn.linear_model import LinearRegression
        from sklearn.metrics import mean_squared_error, r2_score
        from sklearn.model_selection import train_test_split

        # Anscombe's first data set
        x = np.array([10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5], dtype=float)
        y = np.array([8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68])
        model = sm.OLS(y, sm.add_constant(x)).fit()
        print("intercept %.2f slope %.3f R2 %.3f p %.4f" % (*model.params, model.rsquared, model.pvalues[1]))
        fit = stats.linregress(x, y)
        print("r %.3f" % fit.rvalue)

        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 2))
        target = 3 * X[:, 0] - 2 * X[:, 1] + 5
        X_train, X_test, y_train, y_test = train_test_split(X, target, test_size=0.25, random_state=42)
        reg = LinearRegression().fit(X_train, y_train)
        pred = reg.predict(X_test)
        print(reg.coef_.round(6), round(reg.intercept_, 6), len(X_test))
        print(round(r2_score(y_test, pred), 6), mean_squared_error(y_test, pred) < 1e-20)
        """,
        """
        intercept 3.00 slope 0.500 R2 0.667 p 0.0022
        r 0.816
        [ 3. -2.] 5.0 50
        1.0 True
        """,
    )


def test_clustering(science):
    """Four points around each of three centres, which are then the means of their points."""
    works(
        science,
        """
        import numpy as np
        from sklearn.cluster import DBSCAN, KMeans
        from sklearn.metrics import silhouette_score

        centers = np.array([[0, 0], [10, 10], [0, 20]])
        corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
        X = np.vstack([c + corners for c in centers]).astype(float)
        km = KMeans(n_clusters=3, n_init=10, random_state=0).fit(X)
        found = km.cluster_centers_[np.lexsort(km.cluster_centers_.T)]
        print((found.round(6) + 0.0).tolist(), km.inertia_)
        print([len(set(km.labels_[i : i + 4])) for i in (0, 4, 8)])
        print(silhouette_score(X, km.labels_) > 0.8)
        noisy = np.vstack([X, [[100, 100]]])
        print(DBSCAN(eps=2.5, min_samples=3).fit_predict(noisy).tolist())
        """,
        """
        [[0.0, 0.0], [10.0, 10.0], [0.0, 20.0]] 24.0
        [1, 1, 1]
        True
        [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, -1]
        """,
    )


def test_principal_components(science):
    """Those of Fisher's irises are in every textbook."""
    works(
        science,
        """
        from sklearn.datasets import load_iris
        from sklearn.decomposition import PCA
        from sklearn.model_selection import cross_val_score
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        iris = load_iris(as_frame=True)
        X, y = iris.data, iris.target
        print(X.shape, X.mean().round(3).tolist())
        pca = PCA(n_components=2).fit(X)
        print(pca.explained_variance_ratio_.round(4), abs(pca.components_[0]).round(4))
        pipe = make_pipeline(StandardScaler(), PCA(n_components=2), KNeighborsClassifier())
        print(cross_val_score(pipe, X, y, cv=5).mean() > 0.85)
        """,
        """
        (150, 4) [5.843, 3.057, 3.758, 1.199]
        [0.9246 0.0531] [0.3614 0.0845 0.8567 0.3583]
        True
        """,
    )


def test_figure_of_four(science):
    outcome = works(
        science,
        """
        import matplotlib.pyplot as plt
        import numpy as np

        rng = np.random.default_rng(42)
        x = np.linspace(0, 2 * np.pi, 200)
        fig, axes = plt.subplots(2, 2, figsize=(10, 8))
        axes[0, 0].plot(x, np.sin(x), label="sin")
        axes[0, 0].plot(x, np.cos(x), "--", label="cos")
        axes[0, 0].legend()
        axes[0, 1].scatter(rng.normal(size=100), rng.normal(size=100), c=rng.random(100), cmap="viridis")
        axes[1, 0].hist(rng.normal(size=1000), bins=30, color="steelblue")
        axes[1, 1].bar(["a", "b", "c"], [3, 7, 5])
        for ax, title in zip(axes.flat, ["Waves", "Scatter", "Histogram", "Bars"]):
            ax.set_title(title)
        fig.suptitle("Dashboard")
        plt.tight_layout()
        print(len(fig.axes), [round(b.get_height()) for b in axes[1, 1].patches])
        plt.show()
        """,
        """
        4 [3, 7, 5]
        """,
    )
    check_figures(outcome, [10 / 8])


def test_statistical_plots(science):
    outcome = works(
        science,
        """
        import matplotlib.pyplot as plt
        import numpy as np
        import pandas as pd
        import seaborn as sns

        sns.set_theme(style="whitegrid")
        df = pd.DataFrame({
            "day": ["Thu", "Fri", "Sat", "Sun"] * 3,
            "tip": [2, 3, 4, 5, 4, 3, 2, 1, 3, 3, 3, 3],
            "smoker": ["yes", "no", "no"] * 4,
        })
        fig, ax = plt.subplots(figsize=(8, 5))
        sns.barplot(data=df, x="day", y="tip", hue="smoker", errorbar=None, ax=ax)
        ax.set_title("Tips")
        print(sorted(float(p.get_height()) for p in ax.patches if p.get_height() > 0))

        table = df.pivot_table(index="day", columns="smoker", values="tip", aggfunc="mean")
        plt.figure(figsize=(6, 4))
        sns.heatmap(table, annot=True, fmt=".1f", cmap="crest")
        plt.savefig("outputs/heatmap.png", dpi=100)
        plt.close()
        """,
        """
        [2.0, 2.0, 2.0, 3.0, 3.0, 3.5, 3.5, 5.0]
        """,
    )
    assert outcome.artifacts["heatmap.png"]["mime_type"] == "image/png"
    assert [f["name"] for f in outcome.figures()] == ["figure-1.png"]
    assert [png_size(data) for data in outcome.image_bytes()][1] == (600, 400)


def test_image_resize(science):
    """Left half red, right half blue."""
    source = png(400, 200, [b"\xff\0\0" * 200 + b"\0\0\xff" * 200] * 200)
    outcome = works(
        science,
        """
        from PIL import Image, ImageDraw, ImageFont, ImageOps

        img = Image.open("photo.png")
        print(img.format, img.size, img.mode, img.getpixel((0, 0)), img.getpixel((399, 199)))
        small = img.copy()
        small.thumbnail((100, 100), Image.LANCZOS)
        print(small.size)
        font = ImageFont.truetype("DejaVuSans-Bold.ttf", 18)
        ImageDraw.Draw(small).text((5, 5), "Hi", fill="white", font=font)
        small.save("outputs/thumb.png")
        square = ImageOps.fit(img, (64, 64)).convert("L")
        print(square.getpixel((0, 0)), square.getpixel((63, 0)))
        square.save("outputs/square.jpg", quality=85)
        """,
        """
        PNG (400, 200) RGB (255, 0, 0) (0, 0, 255)
        (100, 50)
        76 29
        """,
        [binary_file("photo.png", source)],
    )
    kinds = {name: a["mime_type"] for name, a in outcome.artifacts.items()}
    assert kinds == {"square.jpg": "image/jpeg", "thumb.png": "image/png"}
    assert [b["mimeType"] for b in outcome.images] == ["image/jpeg", "image/png"]
    square, thumb = outcome.image_bytes()
    assert square[:3] == b"\xff\xd8\xff"
    assert png_size(thumb) == (100, 50)


def test_json_and_sqlite(science):
    orders = [
        {"id": 1, "customer": {"name": "Ada", "city": "Zürich"}, "lines": [{"sku": "a", "qty": 2, "price": 1.5}]},
        {
            "id": 2,
            "customer": {"name": "Ben", "city": "東京"},
            "lines": [{"sku": "a", "qty": 1, "price": 1.5}, {"sku": "b", "qty": 3, "price": 4}],
        },
    ]
    outcome = works(
        science,
        """
        import json
        import sqlite3
        import pandas as pd

        with open("orders.json", encoding="utf-8") as f:
            orders = json.load(f)
        lines = pd.json_normalize(orders, record_path="lines", meta=["id", ["customer", "name"], ["customer", "city"]])
        con = sqlite3.connect("shop.db")
        lines.rename(columns={"customer.name": "name", "customer.city": "city"}).to_sql("lines", con, index=False)
        report = pd.read_sql_query(
            "SELECT name, city, SUM(qty * price) AS total, "
            "RANK() OVER (ORDER BY SUM(qty * price) DESC) AS place "
            "FROM lines GROUP BY name, city ORDER BY place", con)
        print(report.to_string(index=False))
        print(con.execute("SELECT sku, SUM(qty) FROM lines GROUP BY sku").fetchall())
        con.close()
        report.to_json("outputs/report.json", orient="records", force_ascii=False)
        """,
        """
        name   city  total  place
         Ben     東京   13.5      1
         Ada Zürich    3.0      2
        [('a', 3), ('b', 3)]
        """,
        [text_file("orders.json", json.dumps(orders, ensure_ascii=False))],
    )
    assert json.loads(outcome.file("report.json")) == [
        {"name": "Ben", "city": "東京", "total": 13.5, "place": 1},
        {"name": "Ada", "city": "Zürich", "total": 3.0, "place": 2},
    ]


def test_pool_of_processes(science):
    """There are 9592 primes below 100,000."""
    works(
        science,
        """
        import multiprocessing as mp
        import numpy as np
        import pandas as pd

        def count_primes(bounds):
            low, high = bounds
            return sum(n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1)) for n in range(low, high))

        def describe(chunk):
            return chunk.groupby("k")["v"].sum()

        if __name__ == "__main__":
            print(mp.cpu_count())
            chunks = [(i, i + 12500) for i in range(0, 100000, 12500)]
            with mp.Pool() as pool:
                print(sum(pool.map(count_primes, chunks)))
            df = pd.DataFrame({"k": np.arange(1000) % 3, "v": np.arange(1000)})
            with mp.Pool(2) as pool:
                parts = pool.map(describe, [df.iloc[:500], df.iloc[500:]])
            print(pd.concat(parts).groupby(level=0).sum().to_dict())
        """,
        """
        2
        9592
        {0: 166833, 1: 166167, 2: 166500}
        """,
    )
