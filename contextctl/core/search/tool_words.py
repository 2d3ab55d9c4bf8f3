"""Chinese words that tools are asked for with, and the English words tools are written with.

Most servers describe their tools in English, many questions are Chinese: without a common word no
ranking by words finds anything. The list is general vocabulary of tools and offices, made by hand;
words of every trade are what an embedding is for.
"""

from __future__ import annotations

from functools import lru_cache

import regex

_LONGEST = 4

_WORDS = """
查询 query search get; 查 search get; 查找 search find; 搜索 search; 检索 search retrieve;
寻找 find; 获取 get fetch retrieve; 读取 read; 获得 get obtain; 查看 view get show;
显示 show display; 列出 list; 列表 list; 打开 open; 关闭 close; 创建 create; 新建 create new;
建立 create; 添加 add; 增加 add increase; 新增 add create; 删除 delete remove; 移除 remove;
清除 clear; 清空 clear empty; 更新 update; 修改 update modify edit; 编辑 edit; 更改 change;
设置 set setting; 配置 configure config; 保存 save; 存储 store save; 写入 write; 发送 send;
发布 publish post; 提交 submit commit; 上传 upload; 下载 download; 导入 import; 导出 export;
复制 copy; 移动 move; 重命名 rename; 合并 merge; 拆分 split; 比较 compare; 对比 compare;
计算 calculate compute; 统计 count statistics; 总数 total count; 汇总 summary total;
总结 summarize summary; 摘要 summary abstract; 分析 analyze analysis; 评估 evaluate assess;
预测 predict forecast; 推荐 recommend; 建议 suggest recommend; 生成 generate create;
制作 make create; 绘制 draw plot; 转换 convert transform; 翻译 translate;
识别 recognize detect identify; 检测 detect check; 检查 check inspect; 验证 verify validate;
测试 test; 运行 run execute; 执行 execute run; 启动 start launch; 开始 start begin; 停止 stop;
暂停 pause; 取消 cancel; 恢复 restore resume; 重启 restart; 登录 login; 注册 register;
注销 logout; 订阅 subscribe; 预订 book reserve; 预定 book reserve; 预约 appointment book;
购买 buy purchase; 下单 order place; 支付 pay payment; 付款 pay payment; 退款 refund; 退货 return;
退换 return exchange; 转账 transfer; 充值 recharge top; 提现 withdraw; 借 borrow loan; 还款 repay;
贷款 loan; 开具 issue; 安排 schedule arrange; 通知 notify notification; 提醒 remind reminder;
订单 order; 商品 product item; 产品 product; 货物 goods cargo; 库存 inventory stock;
仓库 warehouse; 物流 logistics shipping; 快递 express delivery parcel; 发货 ship shipment;
配送 delivery; 包裹 parcel package; 地址 address; 收货 receive delivery; 价格 price;
费用 cost fee; 金额 amount; 折扣 discount; 优惠 discount coupon; 优惠券 coupon; 发票 invoice;
账单 bill; 合同 contract; 报价 quote quotation; 客户 customer client; 顾客 customer; 用户 user;
会员 member; 员工 employee staff; 部门 department; 公司 company; 企业 company enterprise;
供应商 supplier vendor; 商家 merchant; 店铺 shop store; 商店 store shop; 团队 team; 项目 project;
任务 task; 工单 ticket; 问题 problem issue question; 错误 error; 缺陷 bug defect; 日志 log;
报告 report; 报表 report; 记录 record; 历史 history historical; 状态 status state;
详情 detail details; 信息 information info; 数据 data; 数据库 database; 表格 table spreadsheet;
文件 file; 文件夹 folder directory; 目录 directory; 文档 document; 文章 article; 文本 text;
内容 content; 图片 image picture; 图像 image; 照片 photo; 视频 video; 音频 audio; 音乐 music;
歌曲 song; 歌词 lyrics; 电影 movie film; 电视 tv television; 节目 program show; 游戏 game;
书 book; 书籍 book; 小说 novel; 论文 paper; 学术 academic scholar; 研究 research; 新闻 news;
热点 trending hot; 头条 headline; 天气 weather; 气温 temperature; 温度 temperature; 湿度 humidity;
降雨 rain; 空气 air; 质量 quality; 预报 forecast; 气候 climate; 实时 realtime real-time live;
当前 current; 今天 today; 明天 tomorrow; 昨天 yesterday; 日期 date; 时间 time; 时区 timezone;
日历 calendar; 日程 schedule calendar; 会议 meeting conference; 节日 holiday festival;
假期 holiday vacation; 生日 birthday; 地图 map; 位置 location position; 地点 place location;
附近 nearby near; 周边 nearby around; 路线 route directions; 导航 navigation; 距离 distance;
坐标 coordinates; 经纬度 latitude longitude coordinates; 城市 city; 国家 country;
地区 region area; 省份 province; 交通 traffic transport; 公交 bus; 地铁 subway metro; 火车 train;
高铁 train railway; 车票 ticket train; 机票 flight ticket; 航班 flight; 飞机 flight airplane;
机场 airport; 酒店 hotel; 住宿 accommodation hotel; 旅游 travel tourism; 旅行 travel trip;
景点 attraction sight; 餐厅 restaurant; 美食 food; 菜谱 recipe; 食谱 recipe; 食物 food;
营养 nutrition; 卡路里 calorie; 健康 health; 医院 hospital; 医生 doctor; 药品 medicine drug;
药物 drug medication; 疾病 disease; 症状 symptom; 患者 patient; 病人 patient; 运动 sport exercise;
健身 fitness workout; 比赛 match game; 足球 football soccer; 篮球 basketball; 球队 team;
球员 player; 比分 score; 股票 stock; 股价 stock price; 基金 fund; 债券 bond; 汇率 exchange rate;
货币 currency; 外汇 forex exchange; 加密 crypto encrypt; 比特币 bitcoin; 银行 bank; 账户 account;
帐户 account; 余额 balance; 交易 transaction trade; 投资 investment invest;
财务 finance financial; 税 tax; 保险 insurance; 工资 salary wage; 预算 budget;
收入 income revenue; 利润 profit; 市场 market; 行业 industry; 销售 sales sale; 营销 marketing;
广告 advertisement ad; 邮件 email mail; 邮箱 email mailbox; 短信 sms message; 消息 message;
聊天 chat; 电话 phone telephone; 手机 mobile phone; 联系人 contact; 评论 comment review;
评价 review rating; 评分 rating score; 点赞 like; 关注 follow; 社交 social; 微博 weibo;
微信 wechat; 网站 website site; 网页 webpage page web; 网络 network internet; 链接 link url;
网址 url; 域名 domain; 浏览 browse view; 浏览器 browser; 截图 screenshot; 截屏 screenshot;
点击 click; 二维码 qrcode qr; 密码 password; 密钥 key secret; 权限 permission; 安全 security;
加载 load; 代码 code; 仓 repository; 代码库 repository; 分支 branch; 提交记录 commit;
版本 version; 程序 program; 软件 software app; 应用 app application; 服务器 server; 服务 service;
接口 api interface; 容器 container; 部署 deploy deployment; 集群 cluster; 云 cloud; 监控 monitor;
告警 alert; 设备 device; 传感器 sensor; 机器人 robot bot; 灯 light; 空调 air conditioner;
家居 home; 车辆 vehicle car; 汽车 car vehicle; 停车 parking; 充电 charge charging; 加油 fuel gas;
房屋 house property; 房产 property estate; 租房 rent rental; 招聘 recruit job hiring;
职位 job position; 工作 job work; 简历 resume; 求职 job; 学校 school; 学生 student; 老师 teacher;
课程 course; 考试 exam test; 成绩 grade score; 学习 learn study; 教育 education;
大学 university college; 语言 language; 单词 word vocabulary; 词典 dictionary; 字典 dictionary;
定义 definition; 语音 voice speech; 拼写 spelling; 语法 grammar; 数学 math mathematics;
公式 formula; 方程 equation; 图表 chart graph; 图形 graph shape; 颜色 color; 设计 design;
模板 template; 样式 style; 尺寸 size dimension; 长度 length; 重量 weight; 面积 area; 体积 volume;
单位 unit; 数量 quantity number count; 数字 number; 随机 random; 排序 sort rank;
排名 ranking rank; 排行 ranking; 过滤 filter; 筛选 filter; 分类 category classify; 标签 tag label;
标题 title; 名称 name; 描述 description; 关键词 keyword; 类型 type; 格式 format; 编号 id number;
身份证 identity card; 姓名 name; 年龄 age; 性别 gender; 法律 law legal; 案件 case;
法规 regulation law; 政策 policy; 专利 patent; 知识 knowledge; 图谱 graph; 记忆 memory; 笔记 note;
待办 todo; 计划 plan; 目标 goal target; 进度 progress; 流程 process workflow;
审批 approval approve; 申请 apply application request; 请求 request; 回复 reply respond;
投诉 complaint; 举报 report; 捐款 donate; 活动 event activity; 门票 ticket; 抽奖 lottery;
星座 horoscope zodiac; 笑话 joke; 名言 quote; 图书馆 library; 作者 author; 歌手 artist singer;
专辑 album; 播放 play; 播放列表 playlist; 频道 channel; 直播 live stream; 字幕 subtitle caption;
压缩 compress zip; 解压 extract unzip; 备份 backup; 同步 sync; 环境 environment; 能源 energy;
电力 power electricity; 地震 earthquake; 灾害 disaster; 农业 agriculture; 植物 plant; 动物 animal;
宠物 pet; 化学 chemistry chemical; 分子 molecule; 基因 gene; 蛋白 protein; 生物 biology;
物理 physics; 天文 astronomy; 卫星 satellite; 太空 space; 人口 population; 指数 index; 趋势 trend
"""

_HAN = regex.compile(r"\p{Han}+")


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[str, ...]]:
    entries = (entry.split() for entry in _WORDS.split(";"))
    return {entry[0]: tuple(entry[1:]) for entry in entries if entry}


def english_words(text: str) -> list[str]:
    """English words for the Chinese ones in ``text``, each once; the longest word at a place."""
    table = _table()
    found: dict[str, None] = {}
    for run in _HAN.findall(text):
        at = 0
        while at < len(run):
            for length in range(min(_LONGEST, len(run) - at), 0, -1):
                words = table.get(run[at : at + length])
                if words:
                    found |= dict.fromkeys(words)
                    at += length
                    break
            else:
                at += 1
    return list(found)
