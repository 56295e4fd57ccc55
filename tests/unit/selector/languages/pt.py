"""Portuguese: every turn of `en.py` has its twin here."""

from decimal import Decimal

from tests.unit.selector.desk import (
    Asked,
    account,
    charge,
    crm,
    look_up,
    mail,
    note,
    receipt,
    refund,
    reserve,
)

FAILED_ORDER = (
    "cobra o pedido 4411 40,00, depois atualiza o crm do pedido 4411, depois cria a conta do pedido 4411"
)
WITH_A_RECEIPT = (
    "cobra o pedido 4411 40,00, depois envia o recibo do pedido 4411, depois cria a conta do pedido 4411"
)

READ: dict[str, tuple[str, list[Asked]]] = {
    "the failed order": (FAILED_ORDER, [charge(4411, "40.00"), crm(4411), account(4411)]),
    "with a receipt": (WITH_A_RECEIPT, [charge(4411, "40.00"), receipt(4411), account(4411)]),
    "four requests": (
        f"{FAILED_ORDER}, depois envia o recibo do pedido 4411",
        [charge(4411, "40.00"), crm(4411), account(4411), receipt(4411)],
    ),
    # one request
    "a charge": ("cobra o pedido 4411 40,00", [charge(4411, "40.00")]),
    "a refund": ("devolve a cobrança LK-645334 40,00", [refund("LK-645334", "40.00")]),
    "a look": ("consulta o pedido 4411", [look_up(4411)]),
    # capitals, white space, the end
    "capitals": (
        "COBRA O PEDIDO 4411 40,00, DEPOIS ATUALIZA O CRM DO PEDIDO 4411",
        [charge(4411, "40.00"), crm(4411)],
    ),
    "capitals of every letter": ("DEVOLVE A COBRANÇA LK-1 40,00", [refund("LK-1", "40.00")]),
    "a sentence": ("Consulta o pedido 4411.", [look_up(4411)]),
    "spaces and tabs": ("  consulta   o\tpedido 4411  ", [look_up(4411)]),
    "a space that does not break": ("consulta o\u00a0pedido 4411", [look_up(4411)]),
    "lines": ("consulta o pedido\r\n4411\n", [look_up(4411)]),
    "two lines": (
        "cobra o pedido 1 40,00,\ndepois envia o recibo do pedido 1\n",
        [charge(1, "40.00"), receipt(1)],
    ),
    # words that may be left out
    "no article": ("atualiza crm do pedido 4411", [crm(4411)]),
    "more articles": ("atualiza o crm do o pedido 4411", [crm(4411)]),
    "courtesy first": ("por favor consulta o pedido 4411", [look_up(4411)]),
    "courtesy and a comma": ("Por favor, consulta o pedido 4411.", [look_up(4411)]),
    "courtesy last": ("consulta o pedido 4411, se faz favor", [look_up(4411)]),
    "courtesy in the middle": (
        "consulta o pedido 4411, por favor, depois envia o recibo do pedido 4411",
        [look_up(4411), receipt(4411)],
    ),
    "courtesy that is quoted": (
        'anota "por favor deixar à porta" no pedido 7',
        [note("por favor deixar à porta", 7)],
    ),
    # joining
    "then": ("consulta o pedido 1 depois consulta o pedido 2", [look_up(1), look_up(2)]),
    "comma then": ("consulta o pedido 1, depois consulta o pedido 2", [look_up(1), look_up(2)]),
    "and then": ("consulta o pedido 1 e depois consulta o pedido 2", [look_up(1), look_up(2)]),
    "comma and then": ("consulta o pedido 1, e em seguida consulta o pedido 2", [look_up(1), look_up(2)]),
    "and": ("consulta o pedido 1 e consulta o pedido 2", [look_up(1), look_up(2)]),
    "comma and": ("consulta o pedido 1, e consulta o pedido 2", [look_up(1), look_up(2)]),
    "full stop": ("Consulta o pedido 1. Consulta o pedido 2.", [look_up(1), look_up(2)]),
    "paragraphs": ("Consulta o pedido 1.\n\nDepois, consulta o pedido 2.", [look_up(1), look_up(2)]),
    "full stop and then": ("consulta o pedido 1. E depois consulta o pedido 2", [look_up(1), look_up(2)]),
    "then first": ("em seguida consulta o pedido 1", [look_up(1)]),
    "and then first": ("E depois, por favor, consulta o pedido 1", [look_up(1)]),
    "twice the same": (
        "cobra o pedido 1 40 e cobra o pedido 1 40",
        [charge(1, "40.00"), charge(1, "40.00")],
    ),
    # money
    "whole money": ("cobra o pedido 4411 40", [charge(4411, "40.00")]),
    "whole money and a stop": ("cobra o pedido 4411 40.", [charge(4411, "40.00")]),
    "one place": ("cobra o pedido 4411 40,5", [charge(4411, "40.50")]),
    "cents": ("cobra o pedido 4411 0,05", [charge(4411, "0.05")]),
    "a thousand": ("cobra o pedido 4411 1.250,00", [charge(4411, "1250.00")]),
    "a thousand and a comma": (
        "cobra o pedido 4411 1.250, depois consulta o pedido 4411",
        [charge(4411, "1250.00"), look_up(4411)],
    ),
    "a million": ("cobra o pedido 4411 1.234.567,89", [charge(4411, "1234567.89")]),
    "money and a stop": (
        "cobra o pedido 4411 40,00. Consulta o pedido 4411.",
        [charge(4411, "40.00"), look_up(4411)],
    ),
    "a thousand million": ("cobra o pedido 4411 1.234.567.890,00", [charge(4411, "1234567890.00")]),
    # numbers
    "nought": ("consulta o pedido 0", [look_up(0)]),
    "the largest number": ("consulta o pedido 9007199254740991", [look_up(2**53 - 1)]),
    "a quantity": ("reserva 3 de SKU-1", [reserve(3, "SKU-1")]),
    "a quantity in words": ("Reserva TRÊS de SKU-1", [reserve(3, "SKU-1")]),
    # ids
    "an id keeps its case": ("devolve a cobrança lk-Aa9 40,00", [refund("lk-Aa9", "40.00")]),
    "an id with signs": ("devolve a cobrança ch_12.b 40,00", [refund("ch_12.b", "40.00")]),
    "an id of digits": ("devolve cobrança 0044 40,00", [refund("0044", "40.00")]),
    "an id that is almost a day": ("devolve cobrança 2026-050 40,00", [refund("2026-050", "40.00")]),
    # quoted text and addresses
    "connectives that are quoted": (
        'anota "Deixa, depois vai. E toca À campainha" no pedido 7',
        [note("Deixa, depois vai. E toca À campainha", 7)],
    ),
    "curly marks": ("anota \u201cdeixa e vai\u201d no pedido 7", [note("deixa e vai", 7)]),
    "signs that are quoted": (
        "anota \u201cd\u2019\u00e1gua \u2615\u201d no pedido 7",
        [note("d\u2019\u00e1gua \u2615", 7)],
    ),
    "lines that are quoted": ('anota "duas\nlinhas" no pedido 7', [note("duas\nlinhas", 7)]),
    "another script that is quoted": (
        'anota "\u05e9\u05dc\u05d5\u05dd" no pedido 7',
        [note("\u05e9\u05dc\u05d5\u05dd", 7)],
    ),
    "a call that is quoted": ('anota "get_order(order=7)" no pedido 7', [note("get_order(order=7)", 7)]),
    "an address": (
        'escreve a Ana.Silva+x@Shop.example dizendo "oi"',
        [mail("Ana.Silva+x@Shop.example", "oi")],
    ),
    "an address and a stop": (
        'Escreve a ana@shop.example dizendo "oi". Consulta o pedido 7.',
        [mail("ana@shop.example", "oi"), look_up(7)],
    ),
    # lists
    "a list of two": ("consulta os pedidos 4411 e 4412", [look_up(4411), look_up(4412)]),
    "a list of three": ("consulta os pedidos 1, 2 e 3", [look_up(1), look_up(2), look_up(3)]),
    "a list with a comma before its word": (
        "Consulta os pedidos 1, 2, e 3.",
        [look_up(1), look_up(2), look_up(3)],
    ),
    "a list that shares an amount": (
        "cobra os pedidos 4411 e 4412 40,00 cada",
        [charge(4411, "40.00"), charge(4412, "40.00")],
    ),
    "a list among other requests": (
        "consulta o pedido 9 e cobra os pedidos 1, 2 e 3 1.250,00 cada e consulta o pedido 9",
        [look_up(9), *(charge(order, "1250.00") for order in (1, 2, 3)), look_up(9)],
    ),
    "two lists": (
        "consulta os pedidos 1 e 2 e atualiza o crm dos pedidos 3 e 4, por favor",
        [look_up(1), look_up(2), crm(3), crm(4)],
    ),
    # what was named before
    "the same": (
        "cobra o pedido 4411 40,00, depois atualiza o crm do mesmo pedido",
        [charge(4411, "40.00"), crm(4411)],
    ),
    "the same, again and again": (
        "Consulta o pedido 4411. Cobra o mesmo pedido 40 e envia o recibo do mesmo pedido.",
        [look_up(4411), charge(4411, "40.00"), receipt(4411)],
    ),
    "the same after two times the same": (
        "consulta o pedido 1, depois consulta o pedido 1, depois atualiza o crm do mesmo pedido",
        [look_up(1), look_up(1), crm(1)],
    ),
    "it": (
        "cobra o pedido 4411 40,00 e envia o recibo dele, depois atualiza o crm dele",
        [charge(4411, "40.00"), receipt(4411), crm(4411)],
    ),
    # the form that reads in one way alone
    "a call": ("charge_card(order=4411, amount=40.00)", [charge(4411, "40.00")]),
    "calls and requests": (
        'get_order(order=1), depois consulta o pedido 2. add_note(note="a, depois b", order=3)',
        [look_up(1), look_up(2), note("a, depois b", 3)],
    ),
}

CHARGE = "cobra o pedido 4411 40,00"

REFUSED: dict[str, tuple[str, tuple[str, ...]]] = {
    # one part among good ones
    "one part in the middle": (f"{CHARGE}, depois dança, depois consulta o pedido 4411", ("dança",)),
    "two parts": (f"dança, depois {CHARGE}, depois canta", ("dança", "canta")),
    "thanks": (f"{CHARGE}. Muito obrigado.", ("Muito obrigado",)),
    "half a request": (f"{CHARGE}, depois atualiza o crm", ("atualiza o crm",)),
    "nothing between": (
        f"{CHARGE} atualiza crm do pedido 4411",
        (f"{CHARGE} atualiza crm do pedido 4411",),
    ),
    "a comma between": (
        f"{CHARGE}, atualiza crm do pedido 4411",
        (f"{CHARGE}, atualiza crm do pedido 4411",),
    ),
    "a semicolon between": (f"{CHARGE}; consulta o pedido 1", (f"{CHARGE}; consulta o pedido 1",)),
    "a comma inside": ("cobra o pedido 4411, 40,00", ("cobra o pedido 4411, 40,00",)),
    # stopped in mid-sentence, or begun in one
    "then at the end": (f"{CHARGE}, depois", (", depois",)),
    "and at the end": (f"{CHARGE} e", ("e",)),
    "and then and a stop": (f"{CHARGE} e depois.", ("e depois.",)),
    "a comma at the end": (f"{CHARGE},", (f"{CHARGE},",)),
    "then a courtesy": (f"{CHARGE}, depois por favor", ("por favor",)),
    "then twice": (f"{CHARGE}, depois depois consulta o pedido 1", (", depois depois",)),
    "and, then": (f"{CHARGE} e, depois consulta o pedido 1", ("e, depois",)),
    "a comma first": (f", depois {CHARGE}", (", depois",)),
    "a stop first": (f". {CHARGE}", (".",)),
    "then alone": ("depois", ("depois",)),
    "no amount": ("cobra o pedido 4411", ("cobra o pedido 4411",)),
    "a verb": ("cobra", ("cobra",)),
    "two stops": (f"{CHARGE}..", (f"{CHARGE}.",)),
    "two stops apart": (f"{CHARGE}. .", (". .",)),
    # not asking for it
    "not": (f"não {CHARGE}", (f"não {CHARGE}",)),
    "never": (f"nunca {CHARGE}", (f"nunca {CHARGE}",)),
    "short for not": (f"n {CHARGE}", (f"n {CHARGE}",)),
    "short for not, curly": (f"n\u2019 {CHARGE}", (f"n\u2019 {CHARGE}",)),
    "not in the middle": ("cobra não o pedido 4411 40,00", ("cobra não o pedido 4411 40,00",)),
    "not the second": (
        f"{CHARGE} e não atualiza o crm do pedido 4411",
        ("não atualiza o crm do pedido 4411",),
    ),
    "a question": (f"{CHARGE}?", (f"{CHARGE}?",)),
    "a condition": (f"se está pago, {CHARGE}", (f"se está pago, {CHARGE}",)),
    "all of it quoted": (f'"{CHARGE}"', (f'"{CHARGE}"',)),
    # numbers that are not plain ones
    "hexadecimal": ("cobra o pedido 0x11 40,00", ("cobra o pedido 0x11 40,00",)),
    "below nought": ("consulta o pedido -4411", ("consulta o pedido -4411",)),
    "with a plus": ("consulta o pedido +4411", ("consulta o pedido +4411",)),
    "with an underscore": ("consulta o pedido 4_411", ("consulta o pedido 4_411",)),
    "with places": ("consulta o pedido 4411,0", ("consulta o pedido 4411,0",)),
    "with a group": ("consulta o pedido 4.411", ("consulta o pedido 4.411",)),
    "with a leading nought": ("consulta o pedido 044", ("consulta o pedido 044",)),
    "too large": ("consulta o pedido 9007199254740992", ("consulta o pedido 9007199254740992",)),
    "much too large": (
        "consulta o pedido 123456789012345678901",
        ("consulta o pedido 123456789012345678901",),
    ),
    "Arabic digits": (
        "consulta o pedido \u0664\u0664\u0661\u0661",
        ("consulta o pedido \u0664\u0664\u0661\u0661",),
    ),
    "wide digits": ("consulta o pedido \uff14\uff14", ("consulta o pedido \uff14\uff14",)),
    "superscript digits": ("consulta o pedido 4\u00b2", ("consulta o pedido 4\u00b2",)),
    "a number in words": ("consulta o pedido quatro", ("consulta o pedido quatro",)),
    "an article before a number": ("consulta o pedido a 4411", ("consulta o pedido a 4411",)),
    "a quantity of nought": ("reserva 0 de SKU-1", ("reserva 0 de SKU-1",)),
    "a quantity below nought": ("reserva -3 de SKU-1", ("reserva -3 de SKU-1",)),
    "a quantity with places": ("reserva 3,5 de SKU-1", ("reserva 3,5 de SKU-1",)),
    "a quantity nobody knows": ("reserva alguns de SKU-1", ("reserva alguns de SKU-1",)),
    # amounts that are not plain ones
    "the other mark": ("cobra o pedido 4411 40.00", ("cobra o pedido 4411 40.00",)),
    "the other marks": ("cobra o pedido 4411 1,250.00", ("cobra o pedido 4411 1,250.00",)),
    "a short group": ("cobra o pedido 4411 1.25,00", ("cobra o pedido 4411 1.25,00",)),
    "three places": ("cobra o pedido 4411 40,001", ("cobra o pedido 4411 40,001",)),
    "an amount below nought": ("cobra o pedido 4411 -40,00", ("cobra o pedido 4411 -40,00",)),
    "a currency nobody said": ("cobra o pedido 4411 R$40,00", ("cobra o pedido 4411 R$40,00",)),
    "a currency in words nobody said": (
        "cobra o pedido 4411 40 dólares",
        ("cobra o pedido 4411 40 dólares",),
    ),
    "an exponent": ("cobra o pedido 4411 4e3", ("cobra o pedido 4411 4e3",)),
    "not a number": ("cobra o pedido 4411 nan", ("cobra o pedido 4411 nan",)),
    "no whole part": ("cobra o pedido 4411 ,50", ("cobra o pedido 4411 ,50",)),
    "an amount with a leading nought": (
        "cobra o pedido 4411 040,00",
        ("cobra o pedido 4411 040,00",),
    ),
    "a space after the mark": ("cobra o pedido 4411 40. 00", ("00",)),
    "a space for a group": ("cobra o pedido 4411 1 250,00", ("cobra o pedido 4411 1 250,00",)),
    "a thin space for a group": (
        "cobra o pedido 4411 1\u2009250,00",
        ("cobra o pedido 4411 1\u2009250,00",),
    ),
    "a narrow space for a group": (
        "cobra o pedido 4411 1\u202f250,00",
        ("cobra o pedido 4411 1\u202f250,00",),
    ),
    # ids and addresses
    "a word for an id": ("devolve cobrança pedido 40,00", ("devolve cobrança pedido 40,00",)),
    "an amount for an id": ("devolve cobrança 40.00 40,00", ("devolve cobrança 40.00 40,00",)),
    "a grouped amount for an id": (
        "devolve cobrança 1.250.000 40,00",
        ("devolve cobrança 1.250.000 40,00",),
    ),
    "a day for an id": ("devolve cobrança 2026-05-01 40,00", ("devolve cobrança 2026-05-01 40,00",)),
    "a day the other way round for an id": (
        "devolve cobrança 01-05-2026 40,00",
        ("devolve cobrança 01-05-2026 40,00",),
    ),
    "a day with stops for an id": (
        "devolve cobrança 01.05.2026 40,00",
        ("devolve cobrança 01.05.2026 40,00",),
    ),
    "a long id": (f"devolve cobrança {'a1' * 33} 40,00", (f"devolve cobrança {'a1' * 33} 40,00",)),
    "an id and a semicolon": ("devolve cobrança LK-645334; 40,00", ("devolve cobrança LK-645334; 40,00",)),
    "an address without its end": (
        'escreve a ana@shop dizendo "oi"',
        ('escreve a ana@shop dizendo "oi"',),
    ),
    "a long address": (
        f'escreve a {"a" * 250}@a.pt dizendo "oi"',
        (f'escreve a {"a" * 250}@a.pt dizendo "oi"',),
    ),
    # quotation marks
    "nothing quoted": ('anota "" no pedido 7', ('anota "" no pedido 7',)),
    "a space quoted": ('anota " " no pedido 7', ('anota " " no pedido 7',)),
    "single marks": ("anota 'oi' no pedido 7", ("anota 'oi' no pedido 7",)),
    "a letter after the marks": ('anota "a"b no pedido 7', ('anota "a"b no pedido 7',)),
    "no second mark": (
        'anota "deixa, depois consulta o pedido 1',
        ('anota "deixa, depois consulta o pedido 1',),
    ),
    "no second mark, two lines": (
        'anota "deixa\ne consulta o pedido 1',
        ('anota "deixa\ne consulta o pedido 1',),
    ),
    "no second curly mark": (
        "escreve a ana@shop.pt dizendo \u201colá",
        ("escreve a ana@shop.pt dizendo \u201colá",),
    ),
    "no second mark later": (
        'consulta o pedido 1, depois anota "a e consulta o pedido 2',
        ('anota "a e consulta o pedido 2',),
    ),
    "marks of two kinds": (
        'anota \u201ca" no pedido 7 e consulta o pedido 1',
        ('anota \u201ca" no pedido 7 e consulta o pedido 1',),
    ),
    "marks inside marks": (
        'anota \u201ca "b, depois consulta o pedido 1, depois anota c" d\u201d no pedido 7',
        ('anota \u201ca "b, depois consulta o pedido 1, depois anota c" d\u201d no pedido 7',),
    ),
    # lists that are not said in one way
    "a list that does not say each": (
        "cobra os pedidos 4411 e 4412 40,00",
        ("cobra os pedidos 4411", "4412 40,00"),
    ),
    "a list of one": ("consulta os pedidos 4411", ("consulta os pedidos 4411",)),
    "a list without its word": ("consulta os pedidos 1, 2, 3", ("consulta os pedidos 1, 2, 3",)),
    "a list with its word twice": ("consulta os pedidos 1 e 2 e 3", ("3",)),
    "a list joined by then": ("consulta os pedidos 1, depois 2", ("consulta os pedidos 1", "2")),
    "a list with an item twice": ("consulta os pedidos 1, 2 e 1", ("consulta os pedidos 1, 2", "1")),
    "a list with a bad item": ("consulta os pedidos 1, 0x2 e 3", ("consulta os pedidos 1, 0x2", "3")),
    "a list with nothing between commas": (
        "consulta os pedidos 1,, 2 e 3",
        ("consulta os pedidos 1,, 2", "3"),
    ),
    "a list where one is meant": ("consulta o pedido 1 e 2", ("2",)),
    "a list and another end": (
        "cobra os pedidos 1 e 2 40,00 cada por favor já",
        ("cobra os pedidos 1", "2 40,00 cada por favor já"),
    ),
    # what was named before, and was not
    "the same of nothing": ("atualiza o crm do mesmo pedido", ("atualiza o crm do mesmo pedido",)),
    "the same of what comes later": (
        "atualiza o crm do mesmo pedido, depois consulta o pedido 1",
        ("atualiza o crm do mesmo pedido",),
    ),
    "the same of something else": (
        "devolve a cobrança LK-1 40,00, depois atualiza o crm do mesmo pedido",
        ("atualiza o crm do mesmo pedido",),
    ),
    "the same of a list": (
        "consulta os pedidos 1 e 2, depois atualiza o crm do mesmo pedido",
        ("atualiza o crm do mesmo pedido",),
    ),
    "the same of a list and more": (
        "consulta os pedidos 1 e 2, depois atualiza o crm dos mesmos pedidos e 3",
        ("atualiza o crm dos mesmos pedidos", "3"),
    ),
    "the same of a list of three and more": (
        "consulta os pedidos 1, 2 e 3, depois atualiza o crm dos mesmo pedidos e 4",
        ("atualiza o crm dos mesmo pedidos", "4"),
    ),
    "the same of what is quoted": (
        'escreve a ana@shop.pt dizendo "pedido 7", depois atualiza o crm do mesmo pedido',
        ("atualiza o crm do mesmo pedido",),
    ),
    "it of nothing": ("envia o recibo dele", ("envia o recibo dele",)),
    "it where no phrase says what it is": ("cobra o pedido 4411 40,00 e devolve-o", ("devolve-o",)),
    "it in another phrase": (
        "consulta o pedido 4411, depois cria a conta dele",
        ("cria a conta dele",),
    ),
    # calls that no turn can ask for
    "a call of a tool nobody asks for": ("restore_crm(order=7)", ("restore_crm(order=7)",)),
    "a call without an argument": ("charge_card(order=7)", ("charge_card(order=7)",)),
    "a call with another argument": (
        "get_order(order=7, force=1)",
        ("get_order(order=7, force=1)",),
    ),
    "a call with another type": ('get_order(order="7")', ('get_order(order="7")',)),
    "a call with an amount in other words": (
        "charge_card(order=7, amount=40,00)",
        ("charge_card(order=7, amount=40,00)",),
    ),
    "a call with an id that is none": (
        'refund_card(charge="40.00", amount=40.00)',
        ('refund_card(charge="40.00", amount=40.00)',),
    ),
    "a call in another form": ("get_order( order=7 )", ("get_order( order=7 )",)),
    "a call with an argument twice": ("get_order(order=7, order=7)", ("get_order(order=7, order=7)",)),
    "a call too large": ("get_order(order=9007199254740992)", ("get_order(order=9007199254740992)",)),
    # other languages, whole or in part
    "another language": (
        "charge order 4411 40.00, then update the crm",
        ("charge order 4411 40.00, then update the crm",),
    ),
    "another language with these marks": ("charge order 4411 40,00", ("charge order 4411 40,00",)),
    "half another language": (
        f"{CHARGE}, then update the crm for order 4411",
        (f"{CHARGE}, then update the crm for order 4411",),
    ),
    "another language's request": (f"{CHARGE}, depois send the receipt", ("send the receipt",)),
    "another language's joint": (
        f"{CHARGE} and consulta o pedido 1",
        (f"{CHARGE} and consulta o pedido 1",),
    ),
    "another language, colloquial": (
        "look up order 4411 and then mail it",
        ("look up order 4411 and then mail it",),
    ),
    # letters that only look like the right ones
    "the Kelvin sign": (
        'escreve a \u212aim@shop.pt dizendo "oi"',
        ('escreve a \u212aim@shop.pt dizendo "oi"',),
    ),
    "the long s": ("con\u017fulta o pedido 7", ("con\u017fulta o pedido 7",)),
    "a Cyrillic o": ("c\u043ensulta o pedido 7", ("c\u043ensulta o pedido 7",)),
    "the Kelvin sign in an id": ("devolve cobrança \u212a7 40,00", ("devolve cobrança \u212a7 40,00",)),
    "a thin space": ("consulta o\u2009pedido 7", ("consulta o\u2009pedido 7",)),
    "right to left": ("\u05d4\u05d6\u05de\u05e0\u05d4 7", ("\u05d4\u05d6\u05de\u05e0\u05d4 7",)),
    "an accent too many": ("c\u00f3nsulta o pedido 7", ("c\u00f3nsulta o pedido 7",)),
}

AMBIGUOUS: dict[str, tuple[str, list[list[Asked]]]] = {
    "which of two": (
        "consulta o pedido 1, depois consulta o pedido 2, depois atualiza o crm do mesmo pedido",
        [[look_up(1), look_up(2), crm(1)], [look_up(1), look_up(2), crm(2)]],
    ),
    "it of two": (
        "cobra o pedido 1 40 e cobra o pedido 2 40 e envia o recibo dele",
        [
            [charge(1, "40.00"), charge(2, "40.00"), receipt(1)],
            [charge(1, "40.00"), charge(2, "40.00"), receipt(2)],
        ],
    ),
    "the same twice over": (
        "consulta o pedido 1. Consulta o pedido 2. Cobra o mesmo pedido 40. Envia o recibo dele",
        [
            [look_up(1), look_up(2), charge(first, "40.00"), receipt(second)]
            for first in (1, 2)
            for second in (1, 2)
        ],
    ),
}

MONEY: dict[str, tuple[str, str, Decimal | None]] = {
    "a sign": ("USD", "$40", Decimal("40.00")),
    "a sign and places": ("USD", "$1.250,00", Decimal("1250.00")),
    "a word": ("USD", "40 dólares", Decimal("40.00")),
    "a word for one": ("USD", "1 dólar", Decimal("1.00")),
    "a word in capitals": ("USD", "40,50 DÓLARES", Decimal("40.50")),
    "a code": ("USD", "40,00 USD", Decimal("40.00")),
    "a code first": ("USD", "USD 40,00", Decimal("40.00")),
    "no name": ("USD", "40", Decimal("40.00")),
    "a sign of two letters": ("USD", "US$40", Decimal("40.00")),
    "a sign behind": ("EUR", "40,00€", Decimal("40.00")),
    "a sign apart": ("EUR", "€ 40", Decimal("40.00")),
    "euros": ("EUR", "40 euros", Decimal("40.00")),
    "pounds": ("GBP", "40 libras", Decimal("40.00")),
    "reais": ("BRL", "R$ 40,00", Decimal("40.00")),
    "the sign of another": ("EUR", "$40", None),
    "the word of another": ("EUR", "40 dólares", None),
    "the code of another": ("EUR", "40,00 USD", None),
    "two signs": ("USD", "$40 dólares", None),
    "a sign twice": ("USD", "$$40", None),
    "below nought": ("USD", "$-40", None),
    "below nought, sign behind": ("USD", "-$40", None),
    "cents alone": ("USD", "40 cêntimos", None),
    "thousands in short": ("USD", "$40k", None),
    "between": ("USD", "$40-50", None),
    "the other marks": ("EUR", "1,250.00 €", None),
    "ambiguous in another country": ("EUR", "1,250 €", None),
    "a number in words": ("USD", "quarenta dólares", None),
}

JOINTS = (
    ", depois ", " depois ", " e depois ", ", e em seguida ", " e ", ", e ", ". ", ".\n", ". Depois ", " DEPOIS\n",
    " depois, ",
)  # fmt: skip
PIECES = (
    "cobra", "pedido", "pedidos", "cada", "o", "a", "mesmo", "dele", "por favor", "por", "depois", "e", ",", ".",
    "4411", "40,00", '"', "\u201c", "\u201d", " ", "anota", "no", "devolve", "LK-1", "\n", "\u00a0", "\u2019", "{",
    "}", "\\", "não", "[", "(", ")", "=", "get_order(order=7)", "atualiza crm do pedido 7", "consulta pedidos 1",
)  # fmt: skip
GARBAGE = ("dança", "não cobra o pedido 1 1", "4411", "o", '"entre aspas"', "charge order 1 1", "!", "{x}")
CLAUSES = (
    ("cobra pedido {order} {amount}", "charge"),
    ("cobra o pedido {order} {grouped}", "charge"),
    ("devolve a cobrança {charged} {amount}", "refund"),
    ("atualiza o crm do pedido {order}", "crm"),
    ("por favor cria conta do pedido {order}", "account"),
    ("Envia o recibo do pedido {order}", "receipt"),
    ("consulta o pedido {order}", "look_up"),
    ('anota "{words}" no pedido {order}', "note"),
    ("anota \u201c{words}\u201d no pedido {order}", "note"),
)
